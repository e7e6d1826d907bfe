/**
 * The hashes that peers tell for single blocks, when there is no list. A block from a peer must
 * have the hash that this peer told. Two hashes for one block are a dispute, which the origin
 * settles. The first node that vouched for a hash, as one that had the block from the origin, is
 * remembered, so that a wrong file at the end leads to the nodes that lied.
 */

interface Told {
  /** The peers by the hash that they told, in hexadecimal digits. */
  readonly byHash: Map<string, { readonly peers: Set<string>; readonly vouchers: Set<string> }>;
}

/** Different hashes of one block that are remembered. Further ones count as not told. */
const MOST_DIFFERENT = 4;

export class ToldHashes {
  readonly #blocks = new Map<number, Told>();

  /** Returns false if the peer contradicts itself. */
  tell(peer: string, block: number, hash: string, isFirstHand: boolean): boolean {
    const told = this.#blocks.get(block) ?? { byHash: new Map() };
    this.#blocks.set(block, told);
    for (const [other, { peers }] of told.byHash) if (other !== hash && peers.has(peer)) return false;
    let same = told.byHash.get(hash);
    if (same === undefined) {
      if (told.byHash.size >= MOST_DIFFERENT) return true;
      same = { peers: new Set(), vouchers: new Set() };
      told.byHash.set(hash, same);
    }
    same.peers.add(peer);
    if (isFirstHand) same.vouchers.add(peer);
    return true;
  }

  hashOf(peer: string, block: number): string | null {
    for (const [hash, { peers }] of this.#blocks.get(block)?.byHash ?? []) if (peers.has(peer)) return hash;
    return null;
  }

  isDisputed(block: number): boolean {
    return (this.#blocks.get(block)?.byHash.size ?? 0) > 1;
  }

  /** The node that vouched first for this hash of the block, or null. */
  voucherOf(block: number, hash: string): string | null {
    const [first = null] = this.#blocks.get(block)?.byHash.get(hash)?.vouchers ?? [];
    return first;
  }

  /** The block has this hash at the origin. Returns the peers that vouched for another one. */
  settle(block: number, hash: string): string[] {
    const liars: string[] = [];
    for (const [other, { vouchers }] of this.#blocks.get(block)?.byHash ?? [])
      if (other !== hash) liars.push(...vouchers);
    return liars;
  }

  /**
   * Forgets a peer that is banned. A peer that left is remembered, because its blocks are still in
   * use.
   */
  forget(peer: string): void {
    for (const { byHash } of this.#blocks.values())
      for (const [hash, { peers, vouchers }] of byHash) {
        peers.delete(peer);
        vouchers.delete(peer);
        if (peers.size === 0) byHash.delete(hash);
      }
  }
}
