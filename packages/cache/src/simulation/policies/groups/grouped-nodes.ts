/**
 * A fleet in groups: inside a group, nodes cooperate by summaries as production does
 * (../cooperating-nodes.ts). A miss of the whole group goes one of three ways:
 *
 * - `nothing`: to the origin. Each group is a fleet of its own;
 * - `leader-union`: to the leader, which knows what other groups hold (leader-unions.ts);
 * - `group-owner`: to the owner of the object in the group that owns it (group-owners.ts).
 *
 * An object that came from another group is kept like one that came from a neighbour: as a copy, in
 * a tenth of the store, which neighbours are not told of, and as an ordinary object from its second
 * use on. So a group is not filled with objects that other groups have.
 *
 * Groups are consecutive numbers of nodes, as an operator labels racks. Nodes can come and go, and
 * then the groups elect leaders, which tell the others who is there (../../simulate-churn.ts).
 */

import type { Simulation } from '@bloomery/sim';
import type { LeaderClaim } from '@bloomery/transport/membership';
import type { SendLimits } from 'bloomery/wire';
import { summaryRate } from '../../../peers/decisions/summary-universe.ts';
import type { FleetGround } from '../../fleet-ground.ts';
import type { BetweenChoice } from '../../fleet-options.ts';
import type { FetchedFrom, FleetPolicy } from '../../fleet-policy.ts';
import type { SummaryMemory } from '../../fleet-result.ts';
import { NodeFlights } from '../../node-flights.ts';
import type { BeyondAnswer } from '../cooperating-node.ts';
import { CooperatingNodes } from '../cooperating-nodes.ts';
import { type BetweenGroupsWay, type GroupedFleet, nameOfGroup } from './between-groups-way.ts';
import { GroupOwners } from './group-owners.ts';
import { LeaderUnions } from './leader-unions.ts';

export interface GroupedOptions {
  readonly simulation: Simulation;
  /** Nodes of a group. */
  readonly size: number;
  readonly between: BetweenChoice;
  readonly copies: number;
  readonly limits: Partial<SendLimits>;
  readonly falseCandidates: number | undefined;
  /**
   * Called with each claim of a node to lead its group. Without it no leaders are elected, and the
   * lists of groups do not change.
   */
  readonly claimed?: ((group: number, node: number, claim: LeaderClaim) => void) | undefined;
}

export class GroupedNodes implements FleetPolicy {
  readonly #ground: FleetGround;
  readonly #size: number;
  readonly #groups: readonly (readonly number[])[];
  readonly #meshes: CooperatingNodes[];
  readonly #way: BetweenGroupsWay;

  constructor(ground: FleetGround, options: GroupedOptions) {
    const { size, between, falseCandidates, claimed } = options;
    this.#ground = ground;
    this.#size = size;
    const groups = splitInGroups(ground.nodes, size);
    this.#groups = groups;
    this.#way = this.#newWay(groups, options);
    // A leader makes the union from the positions that members tell. So these have to be as fine
    // as the union needs them: all unions together may have no more false candidates than one mesh.
    const fineness = between === 'leader-union' ? groups.length : 1;
    this.#meshes = groups.map(
      (members, group) =>
        new CooperatingNodes(ground, {
          ...options,
          asksOwner: true,
          falseCandidates: summaryRate(1, falseCandidates) / fineness,
          form: 'set',
          sharesReceivers: true,
          group: {
            name: nameOfGroup(group),
            members,
            beyond: this.#way,
            claimed: claimed === undefined ? undefined : (node, claim) => claimed(group, node, claim),
          },
        }),
    );
  }

  lookUp(node: number, object: number): boolean {
    return this.#meshOf(node).lookUp(node, object);
  }

  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    this.#meshOf(node).fetch(node, object, bytes, landed);
  }

  replace(node: number): void {
    this.#meshOf(node).replace(node);
  }

  /** Ends a node after its last answers. */
  stop(node: number): void {
    this.#meshOf(node).stop(node);
  }

  /** Ends a node in the middle of its work. */
  crash(node: number): void {
    this.#meshOf(node).crash(node);
    this.#ground.flights[node] = new NodeFlights();
    this.#way.crashed?.(node);
  }

  /** Starts an empty node where none runs. */
  start(node: number): void {
    this.#meshOf(node).start(node);
  }

  isRunning(node: number): boolean {
    return this.#meshOf(node).isRunning(node);
  }

  /** Whether a node runs and believes to lead its group. */
  isLeading(node: number): boolean {
    return this.#meshOf(node).election(node)?.isLeader ?? false;
  }

  /** The names that the nodes of a group believe their leader to have. */
  believedLeaders(group: number): string[] {
    const mesh = this.#meshes[group]!;
    const leaders = this.#groups[group]!.map((node) => mesh.election(node)?.claim?.leader);
    return [...new Set(leaders.filter((leader) => leader !== undefined))];
  }

  summaryMemory(): SummaryMemory {
    const sum = this.#meshes.reduce((bytes, mesh) => bytes + mesh.summaryMemory()!.nodeBytes, 0);
    return { nodeBytes: sum / this.#meshes.length, leaderBytes: this.#way.leaderBytes };
  }

  close(): void {
    for (const mesh of this.#meshes) mesh.close();
    this.#way.close();
  }

  #newWay(groups: readonly (readonly number[])[], options: GroupedOptions): BetweenGroupsWay {
    const fleet: GroupedFleet = {
      ground: this.#ground,
      groups,
      groupOf: (node) => this.#groupOf(node),
      mesh: (group) => this.#meshes[group]!,
      isRunning: (node) => this.isRunning(node),
      serve: (node, object, bytes, done) => this.#serve(node, object, bytes, done),
    };
    if (options.between === 'leader-union') return new LeaderUnions(fleet, options);
    return options.between === 'group-owner' ? new GroupOwners(fleet, options.claimed !== undefined) : NO_WAY;
  }

  /** A question of another group is answered from the store, or by a fetch like a client's. */
  #serve(node: number, object: number, bytes: number, done: (from: FetchedFrom) => void): void {
    const flights = this.#ground.flights[node]!;
    if (this.lookUp(node, object)) done('neighbour');
    else if (flights.has(object)) flights.join(object, () => done('neighbour'));
    else {
      flights.begin(object, done);
      this.fetch(node, object, bytes, (from) => flights.land(object, from));
    }
  }

  #groupOf(node: number): number {
    return Math.floor(node / this.#size);
  }

  #meshOf(node: number): CooperatingNodes {
    return this.#meshes[this.#groupOf(node)]!;
  }
}

function splitInGroups(nodes: number, size: number): number[][] {
  const groups: number[][] = [];
  for (let node = 0; node < nodes; node++) {
    if (node % size === 0) groups.push([]);
    groups.at(-1)!.push(node);
  }
  return groups;
}

const NO_WAY: BetweenGroupsWay = {
  leaderBytes: 0,
  asksOwner: () => true,
  fetch: (_node: number, _object: number, _bytes: number, on: BeyondAnswer) => on.none(),
  close: () => {},
};
