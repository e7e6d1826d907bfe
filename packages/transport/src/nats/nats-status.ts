/** The connection to the NATS server as an operator sees it, and the events that a log gets. */

export type NatsEvent = (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;

export interface NatsStatus {
  /** The addresses of the server, without user and password. */
  readonly server: string;
  readonly fleet: string;
  readonly isConnected: boolean;
  /** The reason why there is no connection, or null. */
  readonly why: string | null;
  /** Whether joining nodes find full states at the server. */
  readonly hasStates: boolean;
  /** Messages that were not taken, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}
