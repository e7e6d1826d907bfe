/**
 * The neighbours of a node as the event stream tells them: all of them to a new reader, and then
 * those that changed (docs/spec/console.md, "The event stream").
 *
 * Three members change with every message of a neighbour, or with the time alone: `silentMs`,
 * `summaryAt` and `latencyMs`. They are sent with the others, and at least every 10 s. So is
 * `maskedUntil`, which is computed from two clocks and moves by a millisecond.
 */

import type {
  CooperationReport,
  OwnSummaryReport,
  PeerReport,
  SquidsReport,
} from '../../peers/peer-report.ts';

export interface PeersMessage {
  readonly v: 1;
  readonly isFull: boolean;
  /** The node's own summary, or null without neighbours. */
  readonly own: OwnSummaryReport | null;
  readonly groups: CooperationReport['groups'];
  /** The neighbours that changed; all of them if the message is full. */
  readonly peers: readonly PeerReport[];
  /** Addresses that are no longer neighbours. */
  readonly gone: readonly string[];
}

/** The neighbours as they are now. */
export interface PeersNow {
  readonly cooperation: CooperationReport | null;
  readonly squids: SquidsReport | null;
}

const AT_LEAST_EVERY_MS = 10_000;

export class PeerChanges {
  readonly #told = new Map<string, { readonly text: string; readonly at: number }>();
  #ownText = '';

  /** The message for a reader that knows nothing. It changes nothing here. */
  static full(state: PeersNow): PeersMessage {
    const { cooperation } = state;
    return {
      v: 1,
      isFull: true,
      own: cooperation?.own ?? null,
      groups: cooperation?.groups ?? null,
      peers: peersOf(state),
      gone: [],
    };
  }

  /** The changes since the last call, or null if there are none. */
  next(state: PeersNow, now: number): PeersMessage | null {
    const { cooperation } = state;
    const all = peersOf(state);
    const changed = all.filter((peer) => this.#isNews(peer, now));
    const here = new Set(all.map(({ address }) => address));
    const gone = [...this.#told.keys()].filter((address) => !here.has(address));
    for (const address of gone) this.#told.delete(address);
    const own = cooperation?.own ?? null;
    const groups = cooperation?.groups ?? null;
    const ownText = JSON.stringify([own, groups]);
    const isOwnNews = ownText !== this.#ownText;
    this.#ownText = ownText;
    if (changed.length === 0 && gone.length === 0 && !isOwnNews) return null;
    return { v: 1, isFull: false, own, groups, peers: changed, gone };
  }

  #isNews(peer: PeerReport, now: number): boolean {
    const text = JSON.stringify(peer, (name, value) => (RESTLESS.has(name) ? undefined : value));
    const told = this.#told.get(peer.address);
    if (told !== undefined && told.text === text && now - told.at < AT_LEAST_EVERY_MS) return false;
    this.#told.set(peer.address, { text, at: now });
    return true;
  }
}

const RESTLESS: ReadonlySet<string> = new Set(['silentMs', 'summaryAt', 'latencyMs', 'maskedUntil']);

/** Neighbours of the fleet, then Squids. */
function peersOf({ cooperation, squids }: PeersNow): PeerReport[] {
  return [...(cooperation?.peers ?? []), ...(squids?.squids ?? [])];
}
