/**
 * The port between nodes: every system that talks to neighbours is written against it. Each adapter
 * (HTTP, NATS and multicast here, and the network in memory of packages/sim) passes the same
 * contract suite (`packages/testkit/src/transport`).
 *
 * There are two ways to talk. A node *publishes* messages on a topic to all subscribers, and a
 * neighbour *requests* an answer on a topic that another node serves. Published messages are never
 * repeated: a subscriber that missed some learns it from its own protocol or from `closed`, and
 * asks for the rest by a request. We refused acknowledged delivery, because a summary that was
 * overtaken is worth nothing to its receiver, and a queue for a dead neighbour would grow without
 * limit.
 *
 * Neighbours are named by their address, which the operator wrote or the membership found. Their
 * ids are learnt on the way, and change if another node takes over an address.
 */

import type { Cancel } from './clock.ts';

/** The most bytes of one message, of one request and of one answer. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

const TOPIC = /^[a-z0-9][a-z0-9.-]{0,63}$/;

/** True if a text can be the name of a topic: up to 64 of `a-z`, `0-9`, `.` and `-`. */
export function isTopic(text: string): boolean {
  return TOPIC.test(text);
}

const GROUP = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** True if a text can be the name of a group of nodes: up to 32 of `a-z`, `0-9` and `-`. */
export function isGroupName(text: string): boolean {
  return GROUP.test(text);
}

/** Throws if a text cannot be the name of a topic. */
export function checkTopic(topic: string): void {
  if (!isTopic(topic))
    throw new RangeError(
      `Cannot use a topic: expected up to 64 letters a-z, digits, dots and dashes, got ${JSON.stringify(topic)}`,
    );
}

/** Throws if a message is too long. */
export function checkMessageSize(message: Uint8Array): void {
  if (message.length > MAX_MESSAGE_BYTES)
    throw new RangeError(
      `Cannot publish a message: expected at most ${MAX_MESSAGE_BYTES} bytes, got ${message.length}`,
    );
}

export interface PeerIdentity {
  /** The name of the node, unique in the fleet. */
  readonly id: string;
}

/**
 * State of a neighbour: `up` after its hello and for as long as its heartbeats come, otherwise
 * `down`. `self` means that the address leads back to this node, so it is not used. `gone` is the
 * last state of a neighbour that is no longer one: listeners are told, and `peers` lacks it.
 */
export type PeerState = 'up' | 'down' | 'self' | 'gone';

export interface Peer {
  /** The URL as it was configured. */
  readonly address: string;
  /** The name that the neighbour gave itself, or null before the first contact. */
  readonly id: string | null;
  readonly state: PeerState;
  /** The time of the last change of `state`, by `Clock.now`. */
  readonly since: number;
  /** The reason why the neighbour is down, in words for an operator; null if it is up. */
  readonly why: string | null;
  /**
   * The ids of the secrets that both nodes accept, as far as it is known. The first one signs what
   * this node sends. Empty before the first contact, and in adapters without secrets.
   */
  readonly keys: readonly number[];
  /** The group that the neighbour says it is in. Null or undefined if it is in none. */
  readonly group?: string | null | undefined;
}

/** The events of a subscription. None of these methods may throw. */
export interface Subscription {
  /** A message has come. The bytes belong to the receiver. */
  message(bytes: Uint8Array): void;
  /**
   * A full state that the neighbour left for nodes that join later (`leaveState`). It comes before
   * `open`. It may be older than the present state of the neighbour, so the subscriber still asks
   * at `open`. Only adapters with a place for states call it.
   */
  state?(bytes: Uint8Array): void;
  /** The neighbour gave a sign of life that is no message: a heartbeat, a beat of presence. */
  heard?(): void;
  /** The link works from now on. Earlier messages may be missing, so catch up by a request. */
  open(): void;
  /** The link is broken, and messages may be missed until the next `open`. */
  closed(why: string): void;
}

export interface RequestOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Answers one request. `from` is the id of the node that asks. */
export type Service = (body: Uint8Array, from: string) => Uint8Array | Promise<Uint8Array>;

export interface Transport {
  readonly self: PeerIdentity;
  /** The neighbours as they are now. Some adapters get more of them, or fewer, while they run. */
  peers(): readonly Peer[];
  /**
   * Calls the listener with each neighbour that joined, that changed its state, its id or its keys,
   * or that is gone.
   */
  watchPeers(listener: (peer: Peer) => void): Cancel;
  /**
   * Sends a message of at most MAX_MESSAGE_BYTES to all subscribers. The bytes must not change
   * afterwards. Messages of one node arrive in order, or not at all.
   */
  publish(topic: string, message: Uint8Array): void;
  /**
   * The most bytes of a message on a topic that reaches all subscribers as one datagram. Longer
   * messages are possible, but each subscriber has to fetch them, so a publisher that can send
   * several short messages does that. Adapters without datagrams have no such method.
   */
  datagramBytes?(topic: string): number;
  /**
   * Leaves the full state of a topic where nodes that join later find it, in the place of the last
   * one. It contains everything that was published so far. Adapters without such a place have no
   * such method.
   */
  leaveState?(topic: string, state: Uint8Array): void;
  /** Subscribes to a topic of the neighbour at an address, again after each loss of the link. */
  subscribe(peer: string, topic: string, on: Subscription): Cancel;
  /**
   * Asks the neighbour at an address. Rejects with a TransportError. An adapter may repeat a
   * request over a broken connection, so services must stand a request that comes twice.
   */
  request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array>;
  /** Answers the requests of neighbours on a topic, which has no other service. */
  serve(topic: string, answer: Service): Cancel;
  /** Ends every link, request and timer. */
  close(): Promise<void>;
}
