/** The adapter as an operator sees it, and the events that a log gets. */

import type { TransportTraffic } from '../link/transport-traffic.ts';
import type { EnvelopeRefusal } from '../presence/sealed-envelopes.ts';

export type MulticastEvent = (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;

export interface MulticastStatus {
  /** The group and its port. */
  readonly group: string;
  readonly isJoined: boolean;
  /** The reason why the group is not joined, or null. */
  readonly why: string | null;
  /** Times that the group was joined again after it was lost. */
  readonly reconnects: number;
  /** Datagrams and their bytes, beats included. */
  readonly traffic: TransportTraffic;
  /** Messages that went to the group, and those that went there again. */
  readonly sent: number;
  readonly repeated: number;
  /** Messages that this node has fetched for itself. */
  readonly fetched: number;
  /** Datagrams that did not come, and those of them that came when repeated or fetched. */
  readonly missed: number;
  readonly repaired: number;
  /** Gaps that were left to the protocols of the topics. */
  readonly givenUp: number;
  /** Datagrams that were not taken, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

/** The probable cause of each refusal on a network that others use as well. */
export const REFUSAL_ADVICE: Record<EnvelopeRefusal, string> = {
  unreadable: 'another program uses this group and port',
  version: 'a node of a later version is in the fleet',
  signature: 'a node has another secret, or a machine on the network forges datagrams',
  clock: 'the clock of the sender or of this node is wrong by more than 30 s',
  replayed: 'a machine on the network repeats datagrams',
};
