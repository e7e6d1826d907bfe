/**
 * The choice of what to believe about a file before its digest can be checked: a list of hashes
 * that peers name, or none. A list is refuted by a file that fits it and has another digest; it is
 * contested by a block of the origin that does not fit. docs/spec/delivery.md has the rules.
 *
 * Peers count as votes only for the order of the attempts. We refused a majority as proof: it costs
 * an attacker nothing to appear many times.
 */

export type Hypothesis =
  | { readonly kind: 'list'; readonly name: string; readonly isContested: boolean }
  | { readonly kind: 'open' };

/** The statement of a peer in its head. */
interface Statement {
  readonly list: string | null;
  readonly isComplete: boolean;
}

const MOST_REMEMBERED = 64;
const DOUBT_MS = 5000;

export class Hypotheses {
  readonly #statements = new Map<string, Statement>();
  readonly #refuted = new Set<string>();
  readonly #contested = new Set<string>();
  /** Lists that a peer failed to send, by peer and list: when it may be asked again. */
  readonly #doubts = new Map<string, number>();
  #isOpenRefuted = false;

  state(peer: string, statement: Statement): void {
    this.#statements.set(peer, statement);
  }

  leave(peer: string): void {
    this.#statements.delete(peer);
  }

  /** The peers that may be asked for a list, those first that have the whole file. */
  givers(list: string, now: number): string[] {
    return this.supporters(list).filter((peer) => !this.#isDoubted(peer, list, now));
  }

  /** The peers that name a list, those first that have the whole file. */
  supporters(list: string): string[] {
    return [...this.#statements]
      .filter(([, statement]) => statement.list === list)
      .sort(([, a], [, b]) => Number(b.isComplete) - Number(a.isComplete))
      .map(([peer]) => peer);
  }

  isRefuted(list: string): boolean {
    return this.#refuted.has(list);
  }

  /** The peer that was asked for a list sent none. It may be busy, and is asked again later. */
  doubt(peer: string, now: number): void {
    const list = this.#statements.get(peer)?.list;
    if (list == null) return;
    this.#doubts.delete(`${peer} ${list}`);
    this.#doubts.set(`${peer} ${list}`, now + DOUBT_MS);
    if (this.#doubts.size > MOST_REMEMBERED)
      for (const oldest of this.#doubts.keys()) {
        this.#doubts.delete(oldest);
        break;
      }
  }

  #isDoubted(peer: string, list: string, now: number): boolean {
    return now < (this.#doubts.get(`${peer} ${list}`) ?? 0);
  }

  /** A block of the origin does not fit the list. */
  contest(list: string): void {
    if (this.#contested.size < MOST_REMEMBERED) this.#contested.add(list);
  }

  /**
   * A file that fits the list has another digest. Returns the peers that said they have the whole
   * file by it, which is a lie.
   */
  refute(list: string): string[] {
    if (this.#refuted.size < MOST_REMEMBERED) this.#refuted.add(list);
    return this.supporters(list).filter((peer) => this.#statements.get(peer)!.isComplete);
  }

  /** The blocks of the origin and of nodes without a list make another file. */
  refuteOpen(): void {
    this.#isOpenRefuted = true;
  }

  get isOpenRefuted(): boolean {
    return this.#isOpenRefuted;
  }

  /**
   * The best hypothesis. `isOpenPossible` tells whether the size of the file is known from the
   * origin or from a peer without a list.
   */
  best(isOpenPossible: boolean, now: number): Hypothesis | null {
    const votes = new Map<string, number>();
    for (const [peer, { list }] of this.#statements)
      if (list !== null && !this.#refuted.has(list) && !this.#isDoubted(peer, list, now))
        votes.set(list, (votes.get(list) ?? 0) + 1);
    const inOrder = [...votes].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([name]) => name);
    const plain = inOrder.find((name) => !this.#contested.has(name));
    if (plain !== undefined) return { kind: 'list', name: plain, isContested: false };
    if (isOpenPossible && !this.#isOpenRefuted) return { kind: 'open' };
    return inOrder.length === 0 ? null : { kind: 'list', name: inOrder[0]!, isContested: true };
  }
}
