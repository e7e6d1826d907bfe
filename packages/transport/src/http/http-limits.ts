/**
 * The limits and intervals of the HTTP adapter. All of them have a default that suits a fleet of up
 * to a few hundred nodes on one network. Tests pass shorter ones.
 */

export interface HttpLimits {
  /** Pause between two heartbeats of a stream. A neighbour is down after three without one. */
  readonly heartbeatMs: number;
  /** Time until the hello of a stream, from the attempt to connect. */
  readonly helloMs: number;
  /** The pauses between attempts to connect: the first, and the longest. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Streams without a hello in a row after which the messages are pulled instead. */
  readonly failuresBeforePull: number;
  /** Pause between two pulls. */
  readonly pullMs: number;
  /** Time after which a link that pulls tries a stream again. */
  readonly streamAgainMs: number;
  /** Bytes that wait for one slow subscriber. Beyond them its stream is cut. */
  readonly queuedBytes: number;
  /** Streams that are open at once, of all neighbours and of one. */
  readonly streams: number;
  readonly streamsPerNode: number;
  /** Requests that one neighbour has under way. */
  readonly requestsPerNode: number;
  /** Bytes of all requests that arrive at one time. */
  readonly requestBytes: number;
}

export const HTTP_LIMITS: HttpLimits = {
  heartbeatMs: 5000,
  helloMs: 5000,
  firstPauseMs: 250,
  // After a partition, all nodes should be current within two heartbeats.
  longestPauseMs: 5000,
  failuresBeforePull: 3,
  pullMs: 1000,
  streamAgainMs: 60_000,
  queuedBytes: 16 * 1024 * 1024,
  streams: 1024,
  streamsPerNode: 4,
  requestsPerNode: 16,
  requestBytes: 64 * 1024 * 1024,
};
