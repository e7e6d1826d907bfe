/**
 * The lists of groups that elected leaders tell all nodes of the fleet: who is in the group, under
 * the claim of the leader. `ListTeller` of production decides when: a change within 5 s, and
 * otherwise every 30 s, so that nodes that join learn it and others see that the group is there.
 *
 * Who leads and who is there come from `LeaderBeats` of each node. The message itself is modelled:
 * all nodes hear it half a round trip between groups later, and its bytes are those of its JSON
 * text. A node that wrongly believes to lead tells its list as well; `GroupDirectory` sorts them.
 */

import type { Cancel } from '@bloomery/transport';
import { type GroupList, ListTeller } from '@bloomery/transport/membership';
import { type GroupedFleet, nameOfGroup } from './between-groups-way.ts';

const LOOK_MS = 5000;

export class GroupLists {
  readonly #fleet: GroupedFleet;
  readonly #heard: (list: GroupList) => void;
  readonly #tellers = new Map<number, ListTeller>();
  readonly #timers: Cancel[] = [];

  constructor(fleet: GroupedFleet, heard: (list: GroupList) => void) {
    this.#fleet = fleet;
    this.#heard = heard;
    const { clock } = fleet.ground;
    for (const group of fleet.groups.keys()) {
      const look = () => {
        this.#look(group);
        this.#timers[group] = clock.after(LOOK_MS, look);
      };
      this.#timers[group] = clock.after(LOOK_MS * clock.random(), look);
    }
  }

  close(): void {
    for (const cancel of this.#timers) cancel();
  }

  #look(group: number): void {
    const { groups, mesh, ground } = this.#fleet;
    for (const node of groups[group]!) {
      const election = mesh(group).election(node);
      if (election === undefined) {
        this.#tellers.delete(node);
        continue;
      }
      const teller = this.#tellers.get(node) ?? new ListTeller(nameOfGroup(group));
      this.#tellers.set(node, teller);
      const list = teller.look({
        claim: election.isLeader ? election.claim : null,
        members: election.members,
        isWanted: false,
        nowMs: ground.clock.monotonic(),
        wallMs: ground.clock.now(),
      });
      if (list !== null) this.#tell(group, list);
    }
  }

  #tell(group: number, list: GroupList): void {
    const { groups, ground, isRunning } = this.#fleet;
    const bytes = JSON.stringify(list).length;
    const inside = groups[group]!.filter(isRunning).length - 1;
    const outside = groups.flat().filter(isRunning).length - inside - 1;
    ground.counts.sent('update', bytes, inside);
    ground.counts.sentBetween('update', bytes, outside);
    ground.clock.after(ground.times.otherGroupMs / 2, () => this.#heard(list));
  }
}
