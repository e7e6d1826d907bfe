/**
 * The keys that one node owns in the second tier, and who holds them. Each member tells the owner
 * which of its keys fall to this owner, and confirms with every beat that there are no others.
 *
 * What it promises. A "complete" answer without holders means that no member holds the key: the
 * owner has heard from every member, within the lease, under the same list of members that the
 * asker has, and each of them had told all of its keys. Otherwise the answer is not complete, and
 * the asker says "unknown". An owner that has just started knows no member, so it is not complete
 * either. A member that is silent for longer than the lease may be cut off with keys that it could
 * not announce, so it ends completeness until it is heard again or is no longer a member.
 *
 * Holders are hints: the asker asks them. Those of a silent member are named as well, because the
 * asker may reach it.
 */

import type { HashBits } from '../wire/message-bytes.ts';
import type { Registration } from '../wire/owner-message.ts';
import { hashName } from './route-table.ts';

/**
 * Keys that one member may enter at one owner: a state of them fills a message of the transport. A
 * member with more is refused, so the directory says "unknown" and its memory stays bounded.
 */
export const MOST_MEMBER_KEYS = 1_000_000;
/** Leases for which a member that left is remembered, so that a late message of it is refused. */
const REMEMBERED_LEASES = 20;

interface MemberEntry {
  /** Whether the member left. Its keys are dropped, so that changes have nothing to follow. */
  hasLeft: boolean;
  boot: number;
  number: number;
  view: string;
  heardMs: number;
  readonly keys: Set<string>;
}

export class OwnerRecords {
  readonly #leaseMs: number;
  readonly #members = new Map<string, MemberEntry>();
  readonly #holders = new Map<string, Set<string>>();

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** Keys that are known here. */
  get size(): number {
    return this.#holders.size;
  }

  /** Takes the message of a member. Returns false if it does not follow the last one. */
  take(member: string, registration: Registration, nowMs: number): boolean {
    const { kind, boot, base, number, added, removed } = registration;
    let entry = this.#members.get(member);
    if (entry !== undefined && boot < entry.boot) {
      // Either the message is late, or the member's clock was set back. In the second case it goes
      // on, and is believed when the lease of its earlier life is over.
      if (nowMs - entry.heardMs <= this.#leaseMs) return false;
      this.forget(member);
      entry = undefined;
    }
    // A message that came late says nothing about the present, so it does not renew the lease.
    if (entry !== undefined && boot === entry.boot && number < entry.number) return false;
    if ((kind === 'state' ? 0 : (entry?.keys.size ?? 0)) + added.length > MOST_MEMBER_KEYS) return false;
    if (kind === 'state') {
      this.forget(member);
      entry = { hasLeft: false, boot, number, view: '', heardMs: nowMs, keys: new Set() };
      this.#members.set(member, entry);
      this.#tidy(nowMs);
    }
    if (entry === undefined || entry.hasLeft || entry.boot !== boot) return false;
    const isRepeated = kind === 'changes' && number === entry.number && base !== number;
    if (kind === 'changes' && !isRepeated && base !== entry.number) return false;
    for (const hash of added) this.#add(member, entry, hashName(hash));
    for (const hash of removed) this.#remove(member, entry, hashName(hash));
    entry.number = number;
    entry.view = hashName(registration.view);
    entry.heardMs = nowMs;
    return true;
  }

  /**
   * Drops the keys of a member that has left. The number of its last message stays for a while: an
   * older state that comes late must not be taken for a new one if the member returns.
   */
  forget(member: string): void {
    const entry = this.#members.get(member);
    if (entry === undefined) return;
    for (const key of entry.keys) this.#remove(member, entry, key);
    entry.hasLeft = true;
    entry.view = '';
  }

  /** Members with keys or leases, for the owner to forget those that have left. */
  known(): string[] {
    return [...this.#members].filter(([, { hasLeft }]) => !hasLeft).map(([member]) => member);
  }

  holders(hash: HashBits): readonly string[] {
    return [...(this.#holders.get(hashName(hash)) ?? [])];
  }

  /** Whether all these members were heard lately under this view. */
  isComplete(members: readonly string[], view: HashBits, nowMs: number): boolean {
    const name = hashName(view);
    return members.every((member) => {
      const entry = this.#members.get(member);
      return (
        entry !== undefined && !entry.hasLeft && entry.view === name && nowMs - entry.heardMs <= this.#leaseMs
      );
    });
  }

  #tidy(nowMs: number): void {
    for (const [member, { hasLeft, heardMs }] of this.#members)
      if (hasLeft && nowMs - heardMs > REMEMBERED_LEASES * this.#leaseMs) this.#members.delete(member);
  }

  #add(member: string, entry: MemberEntry, key: string): void {
    entry.keys.add(key);
    const holders = this.#holders.get(key);
    if (holders === undefined) this.#holders.set(key, new Set([member]));
    else holders.add(member);
  }

  #remove(member: string, entry: MemberEntry, key: string): void {
    entry.keys.delete(key);
    const holders = this.#holders.get(key);
    holders?.delete(member);
    if (holders?.size === 0) this.#holders.delete(key);
  }
}
