/**
 * The page's knowledge of its node, and how each event changes it. Pure. Everything is bounded: 200
 * answers, 360 rows, and seven samples of each neighbour for bytes per minute.
 */

import type { Answer, Answers, Busiest, Counts, Groups, Hello, OwnSummary, Peer, Peers } from './node-api.ts';

type Connection =
  | { readonly kind: 'alone' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** The stream broke; the page tries again. */
  | { readonly kind: 'lost'; readonly since: number }
  /** The node refuses, with its reason. */
  | { readonly kind: 'refused'; readonly reason: string };

interface TrafficSample {
  readonly at: number;
  readonly bytes: number;
}

export interface FeedState {
  readonly connection: Connection;
  /**
   * How often a stream began or left events out. The history and the answers are asked for again
   * then, because events between two streams are lost.
   */
  readonly beginnings: number;
  readonly hello: Hello | null;
  /** The latest counts, newest last: one a second at most, of the last 10 s. */
  readonly counts: readonly Counts[];
  readonly peers: ReadonlyMap<string, Peer>;
  readonly own: OwnSummary | null;
  readonly groups: Groups | null;
  readonly answers: readonly Answer[];
  readonly skipped: number;
  readonly busiest: Busiest | null;
  /** Rows of the hour that came since the page was opened. */
  readonly hourRows: readonly (readonly (number | null)[])[];
  readonly traffic: ReadonlyMap<string, readonly TrafficSample[]>;
}

export const FIRST_FEED: FeedState = {
  connection: { kind: 'connecting' },
  beginnings: 0,
  hello: null,
  counts: [],
  peers: new Map(),
  own: null,
  groups: null,
  answers: [],
  skipped: 0,
  busiest: null,
  hourRows: [],
  traffic: new Map(),
};

const MOST_ANSWERS = 200;
const MOST_ROWS = 360;
const RECENT_MS = 10_000;
const SAMPLE_MS = 10_000;
const MOST_SAMPLES = 7;

export type FeedEvent =
  | { readonly kind: 'hello'; readonly data: Hello }
  | { readonly kind: 'counts'; readonly data: Counts }
  | { readonly kind: 'peers'; readonly data: Peers }
  | { readonly kind: 'answers'; readonly data: Answers }
  | { readonly kind: 'busiest'; readonly data: Busiest }
  | { readonly kind: 'history'; readonly data: { readonly row: readonly (number | null)[] } }
  | { readonly kind: 'reset'; readonly data: object };

export function afterEvent(state: FeedState, event: FeedEvent): FeedState {
  switch (event.kind) {
    case 'hello':
      return withHello(state, event.data);
    case 'reset':
      return { ...state, beginnings: state.beginnings + 1 };
    case 'counts':
      return { ...state, counts: withCounts(state.counts, event.data) };
    case 'peers':
      return withPeers(state, event.data);
    case 'answers':
      return {
        ...state,
        answers: withAnswers(state.answers, event.data.answers),
        skipped: state.skipped + event.data.skipped,
      };
    case 'busiest':
      return { ...state, busiest: event.data };
    case 'history':
      return { ...state, hourRows: [...state.hourRows, event.data.row].slice(-MOST_ROWS) };
  }
}

function withHello(state: FeedState, hello: Hello): FeedState {
  // Another start of the node: its counts begin again, and so do ids of answers.
  const isOther = state.hello !== null && state.hello.startedAt !== hello.startedAt;
  // A node that stops says so at the end of its stream.
  const beginnings = state.beginnings + (hello.state === 'running' ? 1 : 0);
  return { ...(isOther ? FIRST_FEED : state), connection: { kind: 'open' }, beginnings, hello };
}

function withCounts(known: readonly Counts[], next: Counts): Counts[] {
  const same = known.filter(({ startedAt, at }) => startedAt === next.startedAt && at < next.at);
  const recent = same.filter(({ at }) => at >= next.at - RECENT_MS);
  // The last one stays even if it is older, so that there is a difference to show.
  return [...(recent.length > 0 ? recent : same.slice(-1)), next];
}

function withPeers(state: FeedState, message: Peers): FeedState {
  const peers = new Map(message.isFull ? [] : state.peers);
  const traffic = new Map(state.traffic);
  for (const peer of message.peers) peers.set(peer.address, peer);
  for (const address of message.gone) peers.delete(address);
  for (const address of traffic.keys()) if (!peers.has(address)) traffic.delete(address);
  const at = state.counts.at(-1)?.at ?? 0;
  for (const { address, summaryBytes } of message.peers)
    traffic.set(address, withSample(traffic.get(address) ?? [], { at, bytes: summaryBytes }));
  return {
    ...state,
    peers,
    traffic,
    own: message.own ?? (message.isFull ? null : state.own),
    groups: message.groups ?? (message.isFull ? null : state.groups),
  };
}

function withSample(known: readonly TrafficSample[], next: TrafficSample): readonly TrafficSample[] {
  const last = known.at(-1);
  // A neighbour that came back counts from zero.
  if (last !== undefined && next.bytes < last.bytes) return [next];
  if (last !== undefined && next.at - last.at < SAMPLE_MS && known.length > 1)
    return [...known.slice(0, -1), next];
  return [...known, next].slice(-MOST_SAMPLES);
}

/** Bytes of summaries per minute, or null before there are two samples. */
export function bytesPerMinute(samples: readonly TrafficSample[] | undefined): number | null {
  const [first, last] = [samples?.[0], samples?.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return null;
  return ((last.bytes - first.bytes) * 60_000) / (last.at - first.at);
}

function withAnswers(known: readonly Answer[], more: readonly Answer[]): Answer[] {
  const ids = new Set(more.map(({ id }) => id));
  return [...known.filter(({ id }) => !ids.has(id)), ...more]
    .sort((a, b) => a.id - b.id)
    .slice(-MOST_ANSWERS);
}
