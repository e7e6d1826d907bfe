/** The connection to the NATS server as an operator sees it, and the events that a log gets. */

import type { TransportTraffic } from '../link/transport-traffic.ts';
import type { EnvelopeRefusal } from '../presence/sealed-envelopes.ts';

export type NatsEvent = (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;

export interface NatsStatus {
  /** The addresses of the server, without user and password. */
  readonly server: string;
  readonly fleet: string;
  readonly isConnected: boolean;
  /** The reason why there is no connection, or null. */
  readonly why: string | null;
  /** Connections after the first one. */
  readonly reconnects: number;
  /** Messages of all connections, those for JetStream included, and the bytes in them. */
  readonly traffic: TransportTraffic;
  /** Whether joining nodes find full states at the server. */
  readonly hasStates: boolean;
  /** Messages that were not taken, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

/** The probable cause of each refusal on a NATS server. */
export const REFUSAL_ADVICE: Record<EnvelopeRefusal, string> = {
  unreadable: 'another program uses the subjects of this fleet',
  version: 'a node of a later version is in the fleet',
  signature: 'a node has another secret, or a user of the server forges messages',
  clock: 'the clock of the sender or of this node is wrong by more than 30 s',
  replayed: 'a user of the server repeats messages',
};
