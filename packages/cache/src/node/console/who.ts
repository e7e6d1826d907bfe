/**
 * The answer to "who has this URL?" (docs/spec/console.md): what is stored here, what the summary
 * of each neighbour says and by which bits, and after asking, whether it was right.
 */

import type { Truth } from '../../peers/looking/ask-whether.ts';
import type { KeyLook, LookedPeer } from '../../peers/looking/key-look.ts';

interface WhoPeer extends LookedPeer {
  /** The answer of the neighbour itself; null if it was not asked. */
  readonly truth: Truth | null;
}

export interface Who {
  readonly v: 1;
  readonly url: string | null;
  readonly object: string;
  /** Whether neighbours are never asked for it, because of a secret in its query. */
  readonly isPrivate: boolean;
  readonly local: { readonly isStored: boolean; readonly isFresh: boolean | null };
  readonly owner: string | null;
  readonly isOwner: boolean;
  readonly peers: readonly WhoPeer[];
  readonly order: readonly string[];
}

/** The node, as this question needs it. */
export interface WhoSource {
  /** The key of a URL or path. Throws a `TypeError` for other text. */
  readonly keyOf: (url: string) => string;
  /** The URL as it may be shown, or null if it may not. */
  readonly shownUrl: (key: string) => string | null;
  readonly objectName: (key: string) => string;
  readonly mayName: (key: string) => boolean;
  readonly stored: (key: string) => Promise<Who['local']>;
  readonly look: (key: string) => Promise<KeyLook>;
  readonly askWhether: (peer: LookedPeer, key: string) => Promise<Truth>;
}

/** Neighbours that are asked at the same time. */
const MOST_AT_ONCE = 8;

export async function whoHas(url: string, isAsking: boolean, source: WhoSource): Promise<Who> {
  const key = source.keyOf(url);
  const isPrivate = !source.mayName(key);
  const [local, look] = await Promise.all([source.stored(key), source.look(key)]);
  const truths = new Map<string, Truth>();
  if (isAsking && !isPrivate) {
    const left = look.peers.filter(({ answer }) => answer === 'maybe');
    const askNext = async (): Promise<void> => {
      for (let peer = left.shift(); peer !== undefined; peer = left.shift())
        truths.set(peer.address, await source.askWhether(peer, key));
    };
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, askNext));
  }
  return {
    v: 1,
    url: source.shownUrl(key),
    object: source.objectName(key),
    isPrivate,
    local,
    owner: look.owner,
    isOwner: look.isOwner,
    peers: look.peers.map((peer) => ({ ...peer, truth: truths.get(peer.address) ?? null })),
    order: isPrivate ? [] : look.order,
  };
}
