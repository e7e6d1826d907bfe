/**
 * Packets of captures, from files and pipes, into a meter.
 *
 * A capture that ends in the middle of a record (its writer was killed, or is still writing) gives
 * its whole packets and a warning. A file that is no capture is an error.
 */

import {
  CaptureDecoder,
  CaptureError,
  HeaderDecoder,
  PacketBatch,
  type Tunnel,
} from '@bloomery/packets/capture';
import { feedCapture } from '../captures/feed-capture.ts';
import { inputsOf } from '../keys/input.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import type { FlowSource, PacketSink } from './flow-source.ts';
import { undecodedText } from './flow-text.ts';

const BATCH = 2048;
type ReadArguments = [onRead: (bytes: number) => void, signal: AbortSignal];

/** Opens captures. Without paths, or with `-`, it is standard input. */
export function packetSource(
  paths: readonly string[],
  tunnels: readonly Tunnel[],
): FlowSource & { read(meter: PacketSink, ...rest: ReadArguments): Promise<void> } {
  const inputs = inputsOf(paths);
  // A later fragment counts for the flow of its first one, where that came before.
  const decoder = new HeaderDecoder({ tunnels, joinFragments: true });
  const sizes = inputs.map(({ bytes }) => bytes ?? Number.NaN);
  return {
    bytes: sizes.reduce((sum, size) => sum + size, 0) || 0,
    undecoded() {
      const { notIp, cut, malformed, linkType } = decoder.counts;
      return { notIp, cut, malformed, linkType };
    },
    notes: () => undecodedText(decoder.counts),
    async read(meter: PacketSink, onRead, signal) {
      const batch = new PacketBatch(BATCH);
      for (const input of inputs) {
        const capture = new CaptureDecoder();
        const take = (bytes: Uint8Array) => {
          capture.push(bytes);
          while (capture.next(batch)) meter.addPackets(batch, decoder);
        };
        try {
          await feedCapture(input, take, onRead, signal, meter.chunk);
          if (!signal.aborted) capture.end();
        } catch (error) {
          if (!(error instanceof CaptureError)) throw error;
          reportFault(input.path, error, capture.packets);
        }
        if (signal.aborted) return;
      }
    },
  };
}

function reportFault(path: string, error: CaptureError, packets: number): void {
  const name = path === '-' ? 'standard input' : path;
  if (packets === 0 && error.code !== 'truncated') {
    throw new UsageError(
      `${name} is no capture: expected pcap or pcapng, as tcpdump -w writes it (${error.message})`,
      { cause: error },
    );
  }
  warn(`${name}: ${error.message}; the packets before it are counted`);
}
