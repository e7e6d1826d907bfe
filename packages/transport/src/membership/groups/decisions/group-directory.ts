/**
 * The groups of a fleet, as one node knows them: the members of each group, by the last list that
 * its leader told, and the owner of a key among all groups. This is a state without I/O: the caller
 * passes in the lists that it hears.
 *
 * The owner of a key is found in two steps, by rendezvous hashing of the names of groups and then
 * of the members of that group. Nodes that have heard the same lists agree. A node that joins or
 * leaves moves only keys of its own group, and a group that joins or leaves moves its share of all
 * keys. We refused one step over all members: a node could then not tell from the names of the
 * groups alone whether its own group owns a key, and each node that joins would move keys of all
 * groups.
 *
 * A list belongs to the claim of a leader (leader-claim.ts). The list of a stronger claim takes the
 * place of one of a weaker claim; under the same claim the later version does. A group of which no
 * list was heard for `freshMs` is left out, for example a site whose links are cut. Its keys go to
 * the next group of their order. The caller's own group is never left out.
 *
 * A group that was left out comes back with any list, whatever its claim. At first we compared the
 * new claim with the old one. If the clocks of a group had been an hour ahead, and its nodes
 * restarted after the clocks were set right, the group was then left out for that hour.
 *
 * Memory for 10,000 nodes in 157 groups of 64: 10,000 names. The owner of a key costs one order of
 * the groups and one of the members, 157 and 64 scores instead of 10,000.
 */

import { type RendezvousKey, rendezvousOrder } from '../../rendezvous.ts';
import { isStronger, type LeaderClaim } from './leader-claim.ts';

/** The members of a group, as its leader tells them. */
export interface GroupList {
  readonly group: string;
  readonly claim: LeaderClaim;
  /** Rises with each list under one claim. */
  readonly version: number;
  /** The ids of the members, the leader among them. */
  readonly members: readonly string[];
}

export interface GroupDirectoryOptions {
  /** The name of the caller's own group, or null for a caller that is in none. */
  readonly own: string | null;
  /** How long a list counts after it was heard. */
  readonly freshMs?: number | undefined;
}

/** The group that owns a key, and the members to ask, the owner first. */
export interface GroupOwner {
  readonly group: string;
  readonly nodes: readonly string[];
}

/** Three times the pause after which a leader repeats its list. */
const FRESH_MS = 90_000;

export class GroupDirectory {
  readonly #own: string | null;
  readonly #freshMs: number;
  readonly #groups = new Map<string, { readonly list: GroupList; heardMs: number }>();

  constructor({ own, freshMs = FRESH_MS }: GroupDirectoryOptions) {
    this.#own = own;
    this.#freshMs = freshMs;
  }

  /** Takes a list. Returns false if it is older than the one that is known. */
  hear(list: GroupList, nowMs: number): boolean {
    this.#forgetOld(nowMs);
    const known = this.#groups.get(list.group);
    if (known !== undefined && isSame(list.claim, known.list.claim)) {
      if (list.version < known.list.version) return false;
    } else if (known !== undefined && !isStronger(list.claim, known.list.claim)) return false;
    this.#groups.set(list.group, { list, heardMs: nowMs });
    return true;
  }

  /** The last list of a group, or null if none is known, or if the last one was long ago. */
  list(group: string): GroupList | null {
    return this.#groups.get(group)?.list ?? null;
  }

  /** Names of the groups that own keys at this time. */
  names(nowMs: number): string[] {
    const names = this.#own === null ? [] : [this.#own];
    for (const [name, { list, heardMs }] of this.#groups)
      if (name !== this.#own && list.members.length > 0 && nowMs - heardMs <= this.#freshMs) names.push(name);
    return names;
  }

  /**
   * The owner of a key, and the members that are asked if it does not answer, `most` together. Null
   * if the own group is the owner, whose nodes find it among themselves, or if there are no groups.
   */
  ownerOf(key: RendezvousKey, nowMs: number, most = 2): GroupOwner | null {
    const [group] = rendezvousOrder(key, this.names(nowMs));
    if (group === undefined || group === this.#own) return null;
    const { list } = this.#groups.get(group)!;
    return { group, nodes: rendezvousOrder(key, list.members).slice(0, most) };
  }

  /** Lists of groups that are gone would otherwise be kept forever. */
  #forgetOld(nowMs: number): void {
    for (const [name, { heardMs }] of this.#groups)
      if (nowMs - heardMs > this.#freshMs) this.#groups.delete(name);
  }
}

function isSame(a: LeaderClaim, b: LeaderClaim): boolean {
  return a.epoch === b.epoch && a.leader === b.leader;
}
