/** The limits and intervals of the multicast adapter. Tests pass shorter ones. */

export interface MulticastLimits {
  /** Pause between two beats of presence. A neighbour is down after three without one. */
  readonly heartbeatMs: number;
  /** Longest time for a greeting and for a request of missing messages. */
  readonly askMs: number;
  /** The pauses between attempts to join the group: the first, and the longest. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Time after which a neighbour that is down is forgotten. */
  readonly forgetMs: number;
  /** Requests that one neighbour has under way. */
  readonly requestsPerNode: number;
  /** The most neighbours. Presence of further nodes is not taken. */
  readonly neighbours: number;
}

export const MULTICAST_LIMITS: MulticastLimits = {
  heartbeatMs: 5000,
  askMs: 5000,
  firstPauseMs: 250,
  longestPauseMs: 10_000,
  forgetMs: 600_000,
  requestsPerNode: 16,
  neighbours: 1024,
};
