/**
 * The way between groups by owners: each object belongs to one group and to one node of it, by
 * `GroupDirectory` of `packages/transport`, the code that a node would run. A node whose group
 * cannot give an object asks that owner, which answers as it answers a client: from its store, from
 * a fetch that is under way, from a neighbour of its group, or from the origin. No summary leaves a
 * group.
 *
 * The question replaces the one to the owner inside the asker's group: two questions one after the
 * other would cost every true miss a further round trip. So 16 nodes of a group that miss an object
 * at the same moment ask its owner 16 times, and the origin still sees one fetch.
 *
 * An owner that does not answer within the deadline of owners, or whose process ends meanwhile, is
 * followed by the next node of its group, and then by the origin. An owner that runs answers at
 * once that it is fetching, as `peers/head-wait.ts` does, so the deadline is none for the origin.
 *
 * All nodes know the list of each group, because its leader tells it (group-lists.ts). Where nodes
 * do not come and go, no message is counted for that. The question belongs to the transfer of the
 * object, as in ../hashed-owners.ts.
 */

import { GroupDirectory, type GroupList, type GroupOwner } from '@bloomery/transport/membership';
import { hashKey } from 'bloomery';
import { ownerDeadlineMs } from '../../../peers/decisions/peer-choice.ts';
import { keyOfObject } from '../../trace.ts';
import { type BeyondAnswer, BUDGET_MS } from '../cooperating-node.ts';
import { idOf, indexOfId, KEYRING } from '../cooperating-nodes.ts';
import { type BetweenGroupsWay, type GroupedFleet, nameOfGroup } from './between-groups-way.ts';
import { GroupLists } from './group-lists.ts';

/** A question for an object to its owner in another group. */
interface ForeignQuestion {
  readonly object: number;
  readonly bytes: number;
  readonly nodes: readonly string[];
  readonly on: BeyondAnswer;
}

export class GroupOwners implements BetweenGroupsWay {
  readonly leaderBytes = 0;
  readonly #fleet: GroupedFleet;
  /** The view of all nodes: they hear the same lists at the same time. */
  readonly #directory: GroupDirectory;
  readonly #lists: GroupLists | null;
  /** The owners of objects, until a list changes. */
  readonly #owners = new Map<number, GroupOwner | null>();
  /** The questions that each node is answering, as functions that lose them. */
  readonly #answering = new Map<number, Set<() => void>>();

  /** `isElected`: the groups elect leaders, and the lists come from them. */
  constructor(fleet: GroupedFleet, isElected: boolean) {
    this.#fleet = fleet;
    this.#directory = new GroupDirectory({
      own: null,
      freshMs: isElected ? undefined : Number.POSITIVE_INFINITY,
    });
    this.#lists = isElected ? new GroupLists(fleet, (list) => this.#hear(list)) : null;
    if (!isElected)
      for (const [group, members] of fleet.groups.entries()) this.#hear(wholeGroup(group, members));
  }

  /** The owner in another group takes the place of the one inside the group. */
  asksOwner(object: number, node: number): boolean {
    return this.#foreignOwner(object, node) === null;
  }

  fetch(node: number, object: number, bytes: number, on: BeyondAnswer): void {
    const owner = this.#foreignOwner(object, node);
    if (owner === null) on.none();
    else this.#ask({ object, bytes, nodes: owner.nodes, on }, 0);
  }

  crashed(node: number): void {
    const answering = this.#answering.get(node);
    if (answering === undefined) return;
    const lost = [...answering];
    // A fetch of the dead process that comes to its end finds its question gone.
    answering.clear();
    for (const lose of lost) lose();
  }

  close(): void {
    this.#lists?.close();
  }

  /** Asks one of the nodes in their order, and the next one if it gives nothing. */
  #ask(question: ForeignQuestion, place: number): void {
    const { ground, serve, isRunning } = this.#fleet;
    const { clock, counts } = ground;
    const { object, bytes, nodes, on } = question;
    const name = nodes[place];
    if (name === undefined) {
      on.none();
      return;
    }
    const owner = indexOfId(name);
    const wayMs = ground.wayBetweenMs(clock);
    counts.waited();
    clock.after(wayMs, () => {
      if (!isRunning(owner)) {
        const deadlineMs = ownerDeadlineMs(BUDGET_MS, place);
        clock.after(deadlineMs - wayMs, () => this.#ask(question, place + 1));
        return;
      }
      counts.asked(owner);
      const answering = this.#answering.get(owner) ?? new Set();
      this.#answering.set(owner, answering);
      const lose = () => void clock.after(wayMs, () => this.#ask(question, place + 1));
      answering.add(lose);
      serve(owner, object, bytes, (from) => {
        if (!answering.delete(lose)) return;
        clock.after(wayMs + ground.bodyMs(bytes), () => {
          counts.transferredBetween(bytes, from);
          on.got(from);
        });
      });
    });
  }

  #hear(list: GroupList): void {
    const before = this.#directory.list(list.group);
    this.#directory.hear(list, this.#fleet.ground.clock.monotonic());
    const after = this.#directory.list(list.group);
    if (after?.members.join() !== before?.members.join()) this.#owners.clear();
  }

  /** The owner of an object, or null if it is in the group of the node, or not known. */
  #foreignOwner(object: number, node: number): GroupOwner | null {
    let owner = this.#owners.get(object);
    if (owner === undefined) {
      const { low, high } = hashKey(keyOfObject(object), { key: KEYRING.first.summary });
      owner = this.#directory.ownerOf({ low, high }, this.#fleet.ground.clock.monotonic());
      this.#owners.set(object, owner);
    }
    return owner === null || owner.group === nameOfGroup(this.#fleet.groupOf(node)) ? null : owner;
  }
}

/** The list of a group in which nodes do not come and go. */
function wholeGroup(group: number, members: readonly number[]): GroupList {
  const ids = members.map(idOf);
  const claim = { epoch: 1, leader: ids[0]!, stability: 0 };
  return { group: nameOfGroup(group), claim, version: 1, members: ids };
}
