/**
 * The decision of a group's leader when to tell its list of members to the whole fleet: within one
 * look of a change, when a node of the fleet came that lacks the list, and otherwise every 30 s, so
 * that others see that the group is there. This is a state without I/O: the caller looks every few
 * seconds, and publishes the list that it gets.
 *
 * A leader that restarts may find itself named in the claim that its group still repeats. Its lists
 * then go on under that claim, and must count as later than those of its former life. So the
 * version is at least the time in milliseconds. We counted from 1 first: the lists of a leader that
 * was back within the patience of its group were refused, until the group counted as gone.
 */

import type { GroupList } from './group-directory.ts';
import type { LeaderClaim } from './leader-claim.ts';

/** The group as its leader sees it. */
export interface LedGroup {
  /** The claim under which this node leads, or null if it does not. */
  readonly claim: LeaderClaim | null;
  readonly members: readonly string[];
  /** A node came that has not heard the list. */
  readonly isWanted: boolean;
  /** Milliseconds of a clock that does not jump. */
  readonly nowMs: number;
  /** Milliseconds since 1970. */
  readonly wallMs: number;
}

export const LIST_REPEAT_MS = 30_000;

export class ListTeller {
  readonly #group: string;
  readonly #repeatMs: number;
  #told: { readonly list: GroupList; readonly atMs: number } | null = null;

  constructor(group: string, repeatMs = LIST_REPEAT_MS) {
    this.#group = group;
    this.#repeatMs = repeatMs;
  }

  /** The list to tell now, or null if there is nothing to tell. */
  look({ claim, members, isWanted, nowMs, wallMs }: LedGroup): GroupList | null {
    const last = this.#told;
    if (claim === null) {
      this.#told = null;
      return null;
    }
    const sorted = [...members].sort();
    const isSame =
      last !== null &&
      last.list.claim.epoch === claim.epoch &&
      last.list.members.join('\n') === sorted.join('\n');
    if (isSame && !isWanted && nowMs - last.atMs < this.#repeatMs) return null;
    const version = Math.max((last?.list.version ?? 0) + 1, Math.floor(wallMs));
    const list = { group: this.#group, claim, version, members: sorted };
    this.#told = { list, atMs: nowMs };
    return list;
  }
}
