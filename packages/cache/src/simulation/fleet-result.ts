/**
 * The figures of one simulated run. Everything counts from the end of the warm-up on.
 *
 * A *message* is anything that goes from one node to another except the transfer of an object. The
 * request that is answered with an object belongs to the transfer. A request that is refused is a
 * query and a reply. One update to 63 neighbours is 63 messages. Bytes of messages are those of
 * their content, without the frames of HTTP and TCP.
 */

/**
 * Kinds of messages between nodes. `update`: changes of a summary or a list. `query` and `reply`:
 * a question for an object and an answer without it. `owner-question` and `owner-answer`: about the
 * owner's flight. `catch-up`: a request for the state of a summary, and its answer. `heartbeat`: a
 * message that only says that nothing has changed.
 */
export const MESSAGE_KINDS = [
  'update',
  'query',
  'reply',
  'owner-question',
  'owner-answer',
  'catch-up',
  'heartbeat',
] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** The sources of answers. `local` contains the requests that joined a fetch of the same node. */
export type AnswerSource = 'local' | 'neighbour' | 'origin';

export interface FleetResult {
  /** Requests of clients. Each is answered from exactly one source. */
  readonly requests: number;
  /** Answers from the node's own store, and those that waited for a fetch of the same node. */
  readonly localHits: number;
  /** The part of `localHits` that waited for a fetch of the same node. */
  readonly joinedFetches: number;
  readonly neighbourHits: number;
  readonly originFetches: number;
  /** Bytes of the objects that clients got, by source. */
  readonly bytesBySource: Readonly<Record<AnswerSource, number>>;
  /** Neighbours that were asked for an object by their summary, and did not give it. */
  readonly falseHits: number;
  /** Fetches from the origin of an object that a neighbour held at that moment. */
  readonly lostHits: number;
  readonly messages: Readonly<Record<MessageKind, number>>;
  readonly messageBytes: Readonly<Record<MessageKind, number>>;
  /** Bytes of objects that went from node to node. */
  readonly objectBytes: number;
  /** The part that went between nodes of different groups. All are 0 in a fleet without groups. */
  readonly betweenGroups: BetweenGroups;
  /** Round trips between nodes that the requests of clients waited for, one after the other. */
  readonly roundTrips: number;
  /** Memory for summaries of other nodes at the end, or null for a policy that has none. */
  readonly summaryMemory: SummaryMemory | null;
  /** Time until the end of the answer. */
  readonly latencyMs: { readonly mean: number; readonly p50: number; readonly p99: number };
  /** Requests of clients and of neighbours for objects, by the busiest node, over the mean. */
  readonly skew: number;
  /** Different objects that the fleet holds at the end, and all of them with repetitions. */
  readonly distinctObjects: number;
  readonly heldObjects: number;
  /**
   * Mean time from the moment at which a node stores an object until its neighbours know, or null
   * if no node told any.
   */
  readonly stalenessMs: number | null;
  /** Virtual time of the measured part. */
  readonly durationMs: number;
  /** One point for every `seriesEvery` requests, from the end of the warm-up on. */
  readonly series: readonly SeriesPoint[];
}

/** A part of the figures of a fleet: what went between nodes of different groups. */
export interface BetweenGroups {
  /** The part of `neighbourHits` for which a node of another group gave the object. */
  readonly hits: number;
  /** Messages without heartbeats. */
  readonly messages: number;
  readonly messageBytes: number;
  readonly objectBytes: number;
  /** Questions about keys that the busiest leader of a group answered. */
  readonly busiestLeader: number;
}

/** Bytes as production holds summaries of others, on average over the nodes. */
export interface SummaryMemory {
  readonly nodeBytes: number;
  /** Bytes that the leader of a group holds besides. */
  readonly leaderBytes: number;
}

export interface SeriesPoint {
  /** Requests since the end of the warm-up, at the end of this point. */
  readonly requests: number;
  readonly localShare: number;
  readonly neighbourShare: number;
  readonly originShare: number;
}

/** Messages of all kinds except heartbeats, which do not grow with the requests. */
export function messagesOf({ messages }: FleetResult): number {
  return MESSAGE_KINDS.reduce((sum, kind) => sum + (kind === 'heartbeat' ? 0 : messages[kind]), 0);
}

/** Bytes of messages of all kinds. */
export function messageBytesOf({ messageBytes }: FleetResult): number {
  return MESSAGE_KINDS.reduce((sum, kind) => sum + messageBytes[kind], 0);
}
