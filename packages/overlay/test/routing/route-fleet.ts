/** Route nodes over the simulated network, all of which are members. */

import { type HostContext, type LinkConditions, SimHost, SimNetwork, Simulation } from '@bloomery/sim';
import type { Service } from '@bloomery/transport';
import { newPath } from '../../src/routing/decisions/choose-hop.ts';
import { planRoutes, RendezvousDirectory, RouteNode } from '../../src/routing/index.ts';
import { writeAnswer } from '../../src/routing/wire/locate-message.ts';

export const PLAN = planRoutes({ objectsPerNode: 20, degree: 4 });

/** Chooses the neighbours of a node; none, where only the directory is to answer. */
type Neighbours = ((members: readonly string[]) => readonly string[]) | undefined;

export class RouteFleet {
  readonly simulation: Simulation;
  readonly network: SimNetwork;
  readonly hosts: readonly SimHost<RouteNode>[];

  constructor(
    seed: number,
    count: number,
    conditions: Partial<LinkConditions> = { delayMs: 5 },
    neighbours: Neighbours = undefined,
    program: (context: HostContext) => RouteNode = (context) => routeProgram(context, neighbours),
  ) {
    this.simulation = new Simulation({ seed });
    this.network = new SimNetwork(this.simulation);
    this.network.setConditions(conditions);
    const ids = Array.from({ length: count }, (_, i) => `n${i}`);
    this.hosts = ids.map((id) => {
      const peers = ids.filter((other) => other !== id).map((other) => `sim:${other}`);
      return new SimHost(this.network, { id, peers }, program);
    });
  }

  node(number: number): RouteNode {
    return this.hosts[number].program!;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.simulation.run({ untilMs: this.simulation.elapsedMs + ms });
  }

  /** Runs something that takes time, and lets up to `ms` pass for it. */
  async during<T>(work: () => Promise<T>, ms = 5000): Promise<T> {
    let result: { readonly value: T } | null = null;
    this.simulation.after(0, () => {
      void work().then((value) => {
        result = { value };
      });
    });
    await this.pass(ms);
    if (result === null) throw new Error(`Cannot go on: expected an end within ${ms} ms, got none`);
    return (result as { readonly value: T }).value;
  }
}

/**
 * The program of a node. Keys on its disk are announced at its start. Members are a list here, so
 * nothing has to settle, which would hide the mistakes of an owner that has just started.
 */
export function routeProgram(
  { transport, clock, disk }: HostContext,
  neighbours: Neighbours,
  settleMs: number | undefined = 0,
): RouteNode {
  const directory = new RendezvousDirectory({ transport, clock, beatMs: 1000, settleMs });
  const node = new RouteNode({ transport, clock, plan: PLAN, intervalMs: 200, directory, neighbours });
  for (const key of (disk.get('keys') as string[] | undefined) ?? []) void node.announce(key);
  return node;
}

/** The program of a node that answers every query with the name of another node. */
export function lyingProgram(context: HostContext, holder: string): RouteNode {
  const { transport } = context;
  const lying = new Proxy(transport, {
    get: (target, name) => {
      if (name === 'serve')
        return (topic: string, service: Service) =>
          target.serve(topic, topic === 'route-locate' ? () => lie : service);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const lie = writeAnswer({ holder, hopsLeft: 3, hops: 0, path: newPath(1) });
  return routeProgram({ ...context, transport: lying }, undefined);
}
