/**
 * The questions of this node that are under way: for which key it asks which neighbour, or reads
 * from it. The peer entry looks here before it lets a neighbour wait for a fetch of this node, and
 * refuses if that fetch itself waits for the same neighbour. Otherwise two nodes whose lists of
 * members differ could each wait for the other until their time is up.
 *
 * A longer circle (A waits for B, B for C, C for A) is not seen here. Before the head it costs each
 * of the three the rest of its budget, and then they ask the origin. Among bodies it would last as
 * long as all of them send beats. So the owner of a key follows the chains of sources before it
 * names one (`decisions/owner-tracker.ts`), and a search asks other neighbours for the rest of a
 * body only if they have it stored (`neighbour-search.ts`).
 *
 * A question to the owner in another group of nodes is noted as well. While this node asks another
 * group for a key, it refuses to fetch the same key for a third one. So questions between groups
 * are never passed on, whatever the lists say that the nodes have heard.
 */
export class RunningAsks {
  readonly #asks = new Map<string, string[]>();
  /** Questions to other groups, by key. */
  readonly #beyond = new Map<string, number>();

  /** Notes a question. Returns a function that forgets it. */
  begin(key: string, node: string, isBeyond = false): () => void {
    if (isBeyond) this.#beyond.set(key, (this.#beyond.get(key) ?? 0) + 1);
    const nodes = this.#asks.get(key);
    if (nodes === undefined) this.#asks.set(key, [node]);
    else nodes.push(node);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      if (isBeyond) this.#forgetBeyond(key);
      const running = this.#asks.get(key)!;
      running.splice(running.indexOf(node), 1);
      if (running.length === 0) this.#asks.delete(key);
    };
  }

  /** Whether this node waits for `node`, or reads from it, for this key. */
  has(key: string, node: string): boolean {
    return this.#asks.get(key)?.includes(node) ?? false;
  }

  /** Whether this node asks another group of nodes for this key. */
  isBeyond(key: string): boolean {
    return this.#beyond.has(key);
  }

  /** Number of keys with a question under way. */
  get size(): number {
    return this.#asks.size;
  }

  #forgetBeyond(key: string): void {
    const count = this.#beyond.get(key)! - 1;
    if (count === 0) this.#beyond.delete(key);
    else this.#beyond.set(key, count);
  }
}
