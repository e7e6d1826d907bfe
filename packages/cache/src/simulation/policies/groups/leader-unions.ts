/**
 * The way between groups by unions: the leader of each group tells the other leaders the union of
 * its members' summaries. A node whose group cannot give an object asks its own leader. The leader
 * looks at the unions, asks the leader of a group that may hold the object for a holder, and passes
 * the answer back; the node then asks the holder itself.
 *
 * We refused to hand the unions to all members. A union is nearly as long as its members' summaries
 * together, so each member would receive and hold nearly as much as in one mesh of the whole fleet,
 * which groups are to avoid. The price is one question to the leader at each miss of the group.
 *
 * Production code: `OwnSummaries` with its keeper, pace and coding tells a union on a transport of
 * its own, and `NeighbourSummaries` holds those of the others. Modelled: the leader counts which
 * objects its members told it; a real one would count positions. For that its members' positions
 * must be as fine as the unions need them (grouped-nodes.ts), which is counted in the bytes of
 * their updates. The leader is the first node of a group and keeps its union if it is replaced,
 * which is in favour of this row. At most two groups are asked for one object, as `choosePeers`
 * asks at most two neighbours.
 */

import { SimNetwork, type Simulation } from '@bloomery/sim';
import type { Clock } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import type { SendLimits } from 'bloomery/wire';
import { encodeAnswer, encodeQuestion } from '../../../peers/decisions/owner-question.ts';
import type { KeyedHash } from '../../../peers/neighbour-port.ts';
import { OwnSummaries } from '../../../peers/own-summaries.ts';
import { SlicedWork } from '../../../peers/sliced-work.ts';
import { CountedTransport, type TransportCounts } from '../../counted-transport.ts';
import { keyOfObject } from '../../trace.ts';
import type { BeyondAnswer } from '../cooperating-node.ts';
import { idOf, KEYRING } from '../cooperating-nodes.ts';
import { SharedListener } from '../shared-following.ts';
import type { BetweenGroupsWay, GroupedFleet } from './between-groups-way.ts';

export interface LeaderUnionsOptions {
  readonly simulation: Simulation;
  readonly limits: Partial<SendLimits>;
  readonly falseCandidates: number | undefined;
}

const MOST_GROUPS_ASKED = 2;
const FRESH_MS = 10 * 365 * 86_400_000;

export class LeaderUnions implements BetweenGroupsWay {
  readonly #fleet: GroupedFleet;
  readonly #unions: GroupUnion[];
  readonly #listener: SharedListener;

  constructor(fleet: GroupedFleet, { simulation, limits, falseCandidates }: LeaderUnionsOptions) {
    this.#fleet = fleet;
    const { counts, times } = fleet.ground;
    const network = new SimNetwork(simulation);
    network.setConditions({ delayMs: times.otherGroupMs / 2 });
    const addresses = fleet.groups.map((_, group) => addressOf(group));
    const join = (id: string, address: string) =>
      network.join({ id, address, peers: addresses.filter((other) => other !== address) });
    const between: TransportCounts = {
      sent: (kind, bytes, receivers) => counts.sentBetween(kind, bytes, receivers),
      waited: () => counts.waited(),
    };
    this.#listener = new SharedListener({
      transport: join('union-listener', 'http://union-listener:3129'),
      clock: simulation.clockOf('union-listener'),
      keyId: KEYRING.first.id,
    });
    this.#unions = addresses.map((address, group) => {
      const id = `leader-${group}`;
      const clock = simulation.clockOf(id);
      const transport = new CountedTransport(join(id, address), between);
      const neighbours = addresses.length - 1;
      return new GroupUnion(clock, (work) => ({
        transport,
        clock,
        work,
        keyring: KEYRING,
        neighbours,
        bandwidth: Number.POSITIVE_INFINITY,
        limits,
        falseCandidates,
        event: () => {},
      }));
    });
  }

  get leaderBytes(): number {
    const count = this.#unions.length;
    return (this.#listener.byteLength * (count - 1)) / count;
  }

  asksOwner(): boolean {
    return true;
  }

  told(node: number, added: readonly number[], removed: readonly number[]): void {
    const { clock, times } = this.#fleet.ground;
    const union = this.#unions[this.#fleet.groupOf(node)]!;
    clock.after(times.neighbourMs / 2, () => {
      for (const object of added) union.add(object);
      for (const object of removed) union.remove(object);
    });
  }

  fetch(node: number, object: number, bytes: number, on: BeyondAnswer): void {
    const { ground, groups, groupOf } = this.#fleet;
    const { clock, counts } = ground;
    const own = groupOf(node);
    const isLeader = groups[own]![0] === node;
    const hash = hashOf(object);
    const wayMs = isLeader ? 0 : ground.wayMs(clock);
    const answer = (holder: number | null) => {
      if (!isLeader) counts.sent('reply', answerBytes(holder));
      clock.after(wayMs, () => {
        if (holder === null) on.none();
        else this.#askHolder(holder, object, bytes, on);
      });
    };
    if (!isLeader) {
      counts.sent('query', QUESTION_BYTES);
      counts.waited();
    }
    clock.after(wayMs, () => {
      counts.askedLeader(own);
      this.#askLeaders(this.#candidates(own, hash), hash, answer);
    });
  }

  close(): void {
    for (const union of this.#unions) union.close();
    this.#listener.close();
  }

  /** The groups whose union says "maybe", two at most, by chance. */
  #candidates(own: number, hash: KeyedHash): number[] {
    const { clock } = this.#fleet.ground;
    const found = this.#listener
      .candidates(hash)
      .map(({ address }) => groupAt(address))
      .filter((group) => group !== own);
    const chosen: number[] = [];
    while (found.length > 0 && chosen.length < MOST_GROUPS_ASKED)
      chosen.push(...found.splice(Math.floor(clock.random() * found.length), 1));
    return chosen;
  }

  /** The leader asks others for a holder, one after the other. */
  #askLeaders(groups: readonly number[], hash: KeyedHash, answer: (holder: number | null) => void): void {
    const [group, ...later] = groups;
    if (group === undefined) {
      answer(null);
      return;
    }
    const { ground, mesh } = this.#fleet;
    const { clock, counts } = ground;
    const wayMs = ground.wayBetweenMs(clock);
    counts.sentBetween('query', QUESTION_BYTES);
    counts.waited();
    clock.after(wayMs, () => {
      counts.askedLeader(group);
      const holders = mesh(group).holders(hash);
      const holder = holders[Math.floor(clock.random() * holders.length)] ?? null;
      counts.sentBetween('reply', answerBytes(holder));
      clock.after(wayMs, () => {
        if (holder !== null) {
          answer(holder);
          return;
        }
        counts.falseHit();
        this.#askLeaders(later, hash, answer);
      });
    });
  }

  #askHolder(holder: number, object: number, bytes: number, { got, none }: BeyondAnswer): void {
    const { ground, mesh, groupOf } = this.#fleet;
    const { clock, counts } = ground;
    const wayMs = ground.wayBetweenMs(clock);
    counts.waited();
    clock.after(wayMs, () => {
      counts.asked(holder);
      const holding = mesh(groupOf(holder));
      const isThere = holding.lookUp(holder, object);
      clock.after(wayMs + (isThere ? ground.bodyMs(bytes) : 0), () => {
        if (isThere) {
          counts.transferredBetween(bytes, 'neighbour');
          got('neighbour');
          return;
        }
        const { query, reply } = holding.askBytes(object);
        counts.sentBetween('query', query);
        counts.sentBetween('reply', reply);
        counts.falseHit();
        none();
      });
    });
  }
}

/** The union of one group: objects with the number of members that told them. */
class GroupUnion {
  readonly #clock: Clock;
  readonly #work: SlicedWork;
  readonly #summaries: OwnSummaries;
  readonly #members = new Map<number, number>();

  constructor(clock: Clock, options: (work: SlicedWork) => ConstructorParameters<typeof OwnSummaries>[0]) {
    this.#clock = clock;
    this.#work = new SlicedWork(clock);
    this.#summaries = new OwnSummaries(options(this.#work));
  }

  add(object: number): void {
    const count = this.#members.get(object) ?? 0;
    this.#members.set(object, count + 1);
    if (count === 0) this.#summaries.keep(hashOf(object), this.#clock.now() + FRESH_MS);
  }

  remove(object: number): void {
    const count = this.#members.get(object) ?? 0;
    if (count > 1) {
      this.#members.set(object, count - 1);
      return;
    }
    this.#members.delete(object);
    if (count === 1) this.#summaries.drop(hashOf(object));
  }

  close(): void {
    this.#summaries.close();
    this.#work.close();
  }
}

function addressOf(group: number): string {
  return `http://leader-${group}:3129`;
}

function groupAt(address: string): number {
  return Number(new URL(address).hostname.slice('leader-'.length));
}

function hashOf(object: number): KeyedHash {
  const { id: keyId, summary } = KEYRING.first;
  const { low, high } = hashKey(keyOfObject(object), { key: summary });
  return { keyId, low, high };
}

const QUESTION_BYTES = encodeQuestion({ kind: 'want', hash: { low: 0, high: 0 } }).length;

/** Bytes of a leader's answer: the name of a holder, or that there is none. */
function answerBytes(holder: number | null): number {
  return encodeAnswer(holder === null ? { kind: 'fetch' } : { kind: 'ask', node: idOf(holder) }).length;
}
