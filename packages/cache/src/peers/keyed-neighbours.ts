/**
 * The neighbours as a fetch sees them, by cache key (neighbour-port.ts), on top of a directory that
 * knows keys by their hash only. The directory may be in another process: with `--workers`, the
 * primary holds all summaries, and a worker sends it a hash of 8 bytes instead of a URL.
 *
 * This file also decides which keys are named to neighbours at all, and remembers for which keys an
 * owner expects to hear how a fetch ended: the object is stored here, or this node gave up. Without
 * that, the owner would send other nodes to one that has nothing. It remembers 4,096 of them at
 * most. An owner that hears nothing forgets the claim after a while (`decisions/owner-tracker.ts`).
 */

import type { FleetKeyring } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import type { RequestHead } from '../policy/message-head.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import { RecentKeys } from '../proxy/flight/recent-keys.ts';
import type { ProxyFlight } from '../proxy/flight/shared-response.ts';
import type {
  GiveUp,
  KeyedHash,
  Neighbour,
  NeighbourDirectory,
  NeighbourPlan,
  NeighbourPort,
  NeighbourReport,
  OwnerAnswer,
  OwnerWord,
} from './neighbour-port.ts';

const MOST_CLAIMS = 4096;

export interface KeyedNeighboursOptions {
  readonly directory: NeighbourDirectory;
  /** The secrets under which the fleet hashes the keys of summaries. */
  readonly keyring: FleetKeyring;
  /** Whether a key may be named to a neighbour; keys with a secret in the query may not. */
  readonly mayName: (key: string) => boolean;
  /** Whether a response may be given to a neighbour. */
  readonly mayShare: (response: StoredResponse) => boolean;
  /** Whether the last response of a key could not be shared (`proxy/flight/flights.ts`). */
  readonly isBarren: (key: string) => boolean;
}

/** The part of a flight that tells whether it brings something for other nodes. */
type FetchState = Pick<ProxyFlight, 'key' | 'kind' | 'landing' | 'ended'>;

export class KeyedNeighbours implements NeighbourPort {
  readonly #options: KeyedNeighboursOptions;
  /** Keys for which an owner has this node's claim, and the owner's word. */
  readonly #claims = new RecentKeys<OwnerWord>(MOST_CLAIMS);

  constructor(options: KeyedNeighboursOptions) {
    this.#options = options;
  }

  /** The hashes under which a key is in summaries, one for each secret. */
  hashes(key: string): readonly KeyedHash[] {
    return this.#options.keyring.all.map(({ id: keyId, summary }) => {
      const { low, high } = hashKey(key, { key: summary });
      return { keyId, low, high };
    });
  }

  plan({ key }: RequestHead, again?: boolean): NeighbourPlan | Promise<NeighbourPlan> {
    const { mayName, directory } = this.#options;
    if (!mayName(key)) return { asks: [], afterwards: 'origin', why: 'the URL may not be named' };
    return directory.plan(this.hashes(key), again);
  }

  async askOwner(key: string, lost: string | null): Promise<OwnerAnswer | null> {
    const word = await this.#options.directory.askOwner(this.hashes(key), lost);
    if (word === null) return null;
    this.#claims.set(key, word);
    return word.answer;
  }

  find(node: string): Neighbour | null {
    return this.#options.directory.find(node);
  }

  report(report: NeighbourReport): void {
    this.#options.directory.report(report);
  }

  /** A response of this key is stored now, so the owner can send other nodes here. */
  stored(key: string): void {
    const word = this.#claims.get(key);
    if (word === undefined) return;
    this.#claims.delete(key);
    const hash = this.#hashFor(word, key);
    if (hash !== undefined) this.#options.directory.done(word.owner, hash);
  }

  /** A fetch of this key has landed or ended. */
  fetched(flight: FetchState): void {
    const { directory } = this.#options;
    const { key } = flight;
    const word = this.#claims.get(key);
    const why = word === undefined ? null : this.#giveUp(flight);
    if (word === undefined || why === null) return;
    this.#claims.delete(key);
    const hash = this.#hashFor(word, key);
    if (hash !== undefined) directory.gaveUp(word.owner, hash, why);
  }

  /** The hash by which an owner knows a key, unless its secret was removed meanwhile. */
  #hashFor({ keyId }: OwnerWord, key: string): KeyedHash | undefined {
    return this.hashes(key).find((hash) => hash.keyId === keyId);
  }

  /** The reason why a fetch brings nothing for other nodes, or null if it may still do so. */
  #giveUp({ key, kind, landing, ended }: FetchState): GiveUp | null {
    const { mayShare, isBarren } = this.#options;
    if (kind === 'alone') return null;
    if (landing?.kind === 'shared') {
      if (!mayShare(landing.shared.response)) return 'unshareable';
      // `stored` has removed the claim of a response that was stored. If a claim is left at the end
      // of the fetch, the response was not stored.
      return ended ? 'left' : null;
    }
    return landing?.kind === 'private' && isBarren(key) ? 'unshareable' : 'left';
  }
}
