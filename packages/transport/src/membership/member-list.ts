/**
 * The state that every source of members keeps: the list as it is now, the limit, and the
 * listeners. It computes what joined and what left, and tells nothing if a list is the same again.
 *
 * If there are more members than the limit, those that were members before stay, and others follow
 * in the order of their addresses. So a list that is too long does not make links open and close
 * each time it comes in another order. Nodes with different histories may then hold different
 * parts; the limit is far above what one fleet should have (member-source.ts).
 */

import type { Cancel } from '../clock.ts';
import { type Member, type MembershipChange, MOST_MEMBERS } from './member-source.ts';

export class MemberList {
  readonly #most: number;
  readonly #members = new Map<string, Member>();
  readonly #listeners = new Set<(change: MembershipChange) => void>();

  constructor(most: number = MOST_MEMBERS) {
    this.#most = most;
  }

  /** The members in the order of their addresses. */
  all(): readonly Member[] {
    return [...this.#members.values()].sort(byAddress);
  }

  /**
   * Takes a new list, in which an address counts once, and tells the listeners. Returns how many
   * members the limit left out.
   */
  replace(wanted: Iterable<Member>): number {
    const next = new Map<string, Member>();
    for (const member of wanted) if (!next.has(member.address)) next.set(member.address, member);
    const leftOut = this.#keepWithin(next);
    const left = [...this.#members.values()].filter(({ address }) => !next.has(address));
    const joined = [...next.values()].filter(({ address }) => !this.#members.has(address));
    for (const { address } of left) this.#members.delete(address);
    // A member that is known under another name or from another source is entered as it is now.
    for (const member of next.values()) this.#members.set(member.address, member);
    if (left.length + joined.length === 0) return leftOut;
    const change = { joined: joined.sort(byAddress), left: left.sort(byAddress) };
    for (const listener of [...this.#listeners]) listener(change);
    return leftOut;
  }

  watch(listener: (change: MembershipChange) => void): Cancel {
    // A function of its own, so that a listener which is passed twice is called twice.
    const entry = (change: MembershipChange) => listener(change);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  #keepWithin(next: Map<string, Member>): number {
    const leftOut = Math.max(0, next.size - this.#most);
    if (leftOut === 0) return 0;
    const isKnown = ({ address }: Member) => (this.#members.has(address) ? 0 : 1);
    const inOrder = [...next.values()].sort((a, b) => isKnown(a) - isKnown(b) || byAddress(a, b));
    for (const { address } of inOrder.slice(this.#most)) next.delete(address);
    return leftOut;
  }
}

function byAddress(a: Member, b: Member): number {
  return a.address < b.address ? -1 : 1;
}
