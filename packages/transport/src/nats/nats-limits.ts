/**
 * The limits and intervals of the NATS adapter. All of them have a default that suits a fleet of up
 * to a few hundred nodes. Tests pass shorter ones.
 */

export interface NatsLimits {
  /** Pause between two beats of presence. A neighbour is down after three without one. */
  readonly heartbeatMs: number;
  /** Pause between two pings of the connection, which is lost when two are not answered. */
  readonly pingMs: number;
  /** Time to connect to the server, with its greeting and the authentication. */
  readonly connectMs: number;
  /** The pauses between attempts to connect: the first, and the longest. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Time for all states in the KV bucket at the join. Others are asked for by requests. */
  readonly statesMs: number;
  /** Time after which a neighbour that is down is forgotten. */
  readonly forgetMs: number;
  /** Requests that one neighbour has under way. */
  readonly requestsPerNode: number;
  /** The most neighbours. Presence of further nodes is not taken. */
  readonly neighbours: number;
  /** The most bytes of one piece of a long message; the server's `max_payload` may be less. */
  readonly pieceBytes: number;
}

export const NATS_LIMITS: NatsLimits = {
  heartbeatMs: 5000,
  pingMs: 5000,
  connectMs: 5000,
  firstPauseMs: 250,
  // A restarted server should have its nodes back within two beats.
  longestPauseMs: 5000,
  statesMs: 5000,
  forgetMs: 600_000,
  requestsPerNode: 16,
  neighbours: 1024,
  pieceBytes: 256 * 1024,
};
