/** The port between the command and its inputs: captures, or exports of flows. */

import type { FlowMeter } from '@bloomery/packets/flows';

/** Part of a meter that counts packets; `PrefixMeter` has it as well. */
export type PacketSink = Pick<FlowMeter, 'addPackets' | 'chunk'>;

export interface FlowSource {
  /** Bytes of all inputs, for a bar of progress; 0 if they are not known. */
  readonly bytes: number;
  /** Reads all there is into the meter. Ends early when `signal` is aborted. */
  read(meter: FlowMeter, onRead: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  /** Numbers of packets, records or datagrams that are not in the flows, by reason. */
  undecoded(): Readonly<Record<string, number>>;
  /** The same for people; empty if there are none. */
  notes(): string;
}
