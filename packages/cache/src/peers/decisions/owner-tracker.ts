/**
 * The memory of the owner of a key: which nodes are receiving the object, and from whom. It makes
 * one fetch from the origin serve a whole fleet.
 *
 * The first node that wants an object is told to fetch it. Each later one is told which node to
 * ask, so that the nodes form a tree in which each feeds at most two. Nodes pass bytes on while
 * they arrive, so all have the object after about the time of one transfer, at a depth of log2(N).
 * If one node fed all others, 64 nodes would need 64 times as long as one.
 *
 * A node whose source fails says so (`lost`). The source is shunned: no further node is sent to it
 * until it speaks itself. The first node that lost it is told to fetch the rest, because every
 * other chain of sources ends at the shunned node. The others are sent to the first. So a node that
 * is killed in the middle costs one further fetch, however many nodes it fed.
 *
 * A node is never sent to itself, nor to one that waits for it, however many nodes are between
 * them: the chain of sources is followed to its end before a node is named. A claim whose source is
 * no longer known is not offered, because its chain cannot be followed. When lists of members
 * disagree, a key has two owners that do not see each other's chains. Nodes therefore refuse a
 * neighbour from which they expect bytes themselves, and every wait has an end.
 *
 * Questions may be lost, repeated or late. A repeated `want` gets the same answer. A lost `done`
 * leaves a claim that expires after its time to live. A node that is sent there in the meantime is
 * refused, and reports it as lost. A claim is also forgotten if its node receives for longer than
 * that; a node that comes later is then told to fetch. All memory is bounded: keys, nodes per key,
 * and time. A forgotten key costs one more fetch.
 *
 * We refused a queue in which each node feeds one: its depth is N. We refused to let the owner
 * fetch for others: it would store objects that its own clients do not want.
 */

import type { HashHalves, OwnerAnswer, OwnerQuestion } from './owner-question.ts';

export interface TrackerOptions {
  /** Time for which a claim is believed without a message from its node. */
  readonly ttlMs?: number;
  /** Time for which all nodes are told to fetch an object that may not be shared. */
  readonly unshareableMs?: number;
  readonly mostKeys?: number;
  readonly mostNodesPerKey?: number;
}

/** One node that receives an object, or has it. */
interface Claim {
  /** The node that feeds it; null if it fetches from the origin or has all bytes. */
  source: string | null;
  /** `shunned` claims are not offered, but their chain is still followed. */
  state: 'receiving' | 'done' | 'shunned';
  heardAt: number;
}

interface Tree {
  /** Claims by node, the first that wanted the object first. */
  readonly claims: Map<string, Claim>;
  unshareableUntil: number;
  heardAt: number;
}

const FAN_OUT = 2;
const FETCH: OwnerAnswer = { kind: 'fetch' };
const NOTED: OwnerAnswer = { kind: 'noted' };

export class OwnerTracker {
  readonly #ttlMs: number;
  readonly #unshareableMs: number;
  readonly #mostKeys: number;
  readonly #mostNodes: number;
  /** In the order in which their keys were last spoken about. */
  readonly #trees = new Map<string, Tree>();

  constructor({
    ttlMs = 30_000,
    unshareableMs = 10_000,
    mostKeys = 16_384,
    mostNodesPerKey = 1024,
  }: TrackerOptions = {}) {
    this.#ttlMs = ttlMs;
    this.#unshareableMs = unshareableMs;
    this.#mostKeys = mostKeys;
    this.#mostNodes = mostNodesPerKey;
  }

  /** Keys in memory. */
  get keys(): number {
    return this.#trees.size;
  }

  /**
   * Answers a question of node `from`. `isUsable` says which nodes are up, as far as this node
   * knows. `now` is in milliseconds of a clock that does not jump.
   */
  answer(
    question: OwnerQuestion,
    from: string,
    now: number,
    isUsable: (node: string) => boolean = () => true,
  ): OwnerAnswer {
    this.#forget(now);
    const tree = this.#touch(question.hash, now);
    switch (question.kind) {
      case 'want':
        return this.#place(tree, from, now, isUsable);
      case 'lost':
        shun(tree, question.source);
        return this.#place(tree, from, now, isUsable);
      case 'done':
        this.#claim(tree, from, { source: null, state: 'done', heardAt: now });
        return NOTED;
      case 'unshareable':
        tree.claims.clear();
        tree.unshareableUntil = now + this.#unshareableMs;
        return NOTED;
      case 'left':
        shun(tree, from);
        return NOTED;
    }
  }

  /** Names a source for a node, and notes that the node receives from it. */
  #place(tree: Tree, node: string, now: number, isUsable: (node: string) => boolean): OwnerAnswer {
    if (now < tree.unshareableUntil) return FETCH;
    const claim = tree.claims.get(node);
    const source =
      claim?.state === 'receiving' && this.#isFed(tree, node, claim, isUsable)
        ? claim.source
        : this.#findSource(tree, node, isUsable);
    const isNoted = this.#claim(tree, node, { source, state: 'receiving', heardAt: now });
    return source === null || !isNoted ? FETCH : { kind: 'ask', node: source };
  }

  /** True if what the node was told before still holds. */
  #isFed(tree: Tree, node: string, { source }: Claim, isUsable: (node: string) => boolean): boolean {
    return source === null || depthOf(tree, source, node, isUsable) !== null;
  }

  /** The node nearest to the bytes that may feed another one, or null. */
  #findSource(tree: Tree, node: string, isUsable: (node: string) => boolean): string | null {
    const fed = new Map<string, number>();
    for (const [other, { source, state }] of tree.claims) {
      if (source !== null && state === 'receiving' && other !== node)
        fed.set(source, (fed.get(source) ?? 0) + 1);
    }
    let best: string | null = null;
    let leastDepth = Infinity;
    for (const other of tree.claims.keys()) {
      if ((fed.get(other) ?? 0) >= FAN_OUT) continue;
      const depth = depthOf(tree, other, node, isUsable);
      if (depth === null || depth >= leastDepth) continue;
      [best, leastDepth] = [other, depth];
    }
    return best;
  }

  /** Notes a claim. Returns false if the key has as many nodes as it may. */
  #claim(tree: Tree, node: string, claim: Claim): boolean {
    if (!tree.claims.has(node) && tree.claims.size >= this.#mostNodes) return false;
    tree.claims.set(node, claim);
    return true;
  }

  /** The tree of a key, which becomes the one spoken about last. */
  #touch(hash: HashHalves, now: number): Tree {
    const key = `${hash.high.toString(36)}.${hash.low.toString(36)}`;
    const known = this.#trees.get(key);
    const tree = known ?? { claims: new Map(), unshareableUntil: -Infinity, heardAt: now };
    this.#trees.delete(key);
    this.#trees.set(key, tree);
    tree.heardAt = now;
    for (const [node, { heardAt }] of tree.claims) {
      if (now - heardAt > this.#ttlMs) tree.claims.delete(node);
    }
    for (const oldest of this.#trees.keys()) {
      if (this.#trees.size <= this.#mostKeys) break;
      this.#trees.delete(oldest);
    }
    return tree;
  }

  /** Forgets keys whose last question is older than any claim may be. */
  #forget(now: number): void {
    const longestMs = Math.max(this.#ttlMs, this.#unshareableMs);
    for (const [key, { heardAt }] of this.#trees) {
      if (now - heardAt <= longestMs) return;
      this.#trees.delete(key);
    }
  }
}

function shun({ claims }: Tree, node: string): void {
  const claim = claims.get(node);
  if (claim !== undefined) claim.state = 'shunned';
}

/**
 * The number of steps from a node along its sources to the origin or to a whole copy. It is null if
 * the chain does not lead there: because `asker` is in it, or a node that is shunned, down or
 * forgotten.
 */
function depthOf(
  { claims }: Tree,
  first: string,
  asker: string,
  isUsable: (node: string) => boolean,
): number | null {
  let node = first;
  for (let depth = 0; depth < claims.size; depth++) {
    const claim = claims.get(node);
    if (claim === undefined || claim.state === 'shunned' || node === asker || !isUsable(node)) return null;
    if (claim.source === null) return depth;
    node = claim.source;
  }
  return null;
}
