/**
 * A scenario, and the world that it describes: some machines in a network, each with the same
 * program, and what must hold of them. A world is built from a scenario, a seed and a list of
 * faults, and from nothing else, so it can be built again.
 */

import { Simulation } from '../engine/simulation.ts';
import { type HostProgram, SimHost } from '../network/sim-host.ts';
import { SimNetwork } from '../network/sim-network.ts';
import { type Fault, type FaultKind, scheduleFault } from './fault.ts';

export interface Scenario<P> {
  /** Ids of the nodes. All of them are neighbours, unless `peersOf` says less. */
  readonly nodes: readonly string[];
  readonly peersOf?: ((id: string) => readonly string[]) | undefined;
  /** The program of every node. */
  readonly program: HostProgram<P>;
  /** Work from outside: sets timers of the simulation. */
  readonly load?: ((world: World<P>) => void) | undefined;
  /** Length of the first phase, in which faults happen. */
  readonly faultyMs: number;
  /** Length of the second phase, without faults, at whose end everything has converged. */
  readonly quietMs: number;
  /** Number of faults. */
  readonly faults: number;
  readonly faultKinds?: readonly FaultKind[] | undefined;
  /** Says what is wrong, or null. It is asked after every `checkEvery` events. */
  readonly invariant?: ((world: World<P>) => string | null) | undefined;
  /** Says what has not converged, or null. It is asked at the end. */
  readonly converged?: ((world: World<P>) => string | null) | undefined;
  readonly checkEvery?: number | undefined;
}

export class World<P> {
  readonly simulation: Simulation;
  readonly network: SimNetwork;
  readonly hosts: readonly SimHost<P>[];
  readonly #byId: ReadonlyMap<string, SimHost<P>>;

  constructor(scenario: Scenario<P>, seed: number, faults: readonly Fault[]) {
    this.simulation = new Simulation({ seed });
    this.network = new SimNetwork(this.simulation);
    this.network.setConditions({ delayMs: 5 });
    const { nodes, program, peersOf = (id) => nodes.filter((other) => other !== id) } = scenario;
    this.hosts = nodes.map((id) => {
      const peers = peersOf(id).map((peer) => `sim:${peer}`);
      return new SimHost(this.network, { id, peers }, program);
    });
    this.#byId = new Map(this.hosts.map((host) => [host.id, host]));
    scenario.load?.(this);
    for (const fault of faults) scheduleFault(fault, this);
  }

  /** The machine of a node. */
  readonly host = (id: string): SimHost<P> => {
    const host = this.#byId.get(id);
    if (host === undefined)
      throw new RangeError(`Cannot find a node: expected one of the scenario, got ${id}`);
    return host;
  };
}
