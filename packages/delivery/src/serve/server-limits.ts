/** The limits of a server of blocks. Their defaults suit a fleet of some hundred nodes. */

export interface ServerLimits {
  /** Connections in all, and of one address. */
  readonly connections: number;
  readonly perAddress: number;
  /** Streams of the state, of all files. */
  readonly followers: number;
  /** Answers with blocks that are sent at one time, and requests that wait for their turn. */
  readonly uploads: number;
  readonly waiting: number;
  /** Time for a request with its fields. */
  readonly requestMs: number;
  /** A client that takes nothing for this long is cut off. */
  readonly idleMs: number;
  /** Changes are gathered for this long. */
  readonly gatherMs: number;
  readonly heartbeatMs: number;
  /** Bytes per second of all answers together; null is no limit. */
  readonly bytesPerSecond: number | null;
}

export const SERVER_LIMITS: ServerLimits = {
  connections: 512,
  perAddress: 128,
  followers: 256,
  uploads: 8,
  waiting: 64,
  requestMs: 10_000,
  idleMs: 30_000,
  gatherMs: 200,
  heartbeatMs: 5000,
  bytesPerSecond: null,
};
