/**
 * Fleets of real nodes for the tests of this folder, built from the sources as they are. A fleet
 * ends with its test.
 */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { Fleet, type FleetOptions } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin, type ThrottledOriginOptions } from '@bloomery/testkit/origins/throttled-origin';
import { expect } from 'vitest';
import { bundleProgram } from '../node/cache-program.ts';
import { cleanUp, scratchFolder, until } from '../node/scratch.ts';

let program: string | null = null;

export interface TestFleetOptions extends Partial<Omit<FleetOptions, 'program' | 'settings'>> {
  readonly settings?: FleetOptions['settings'];
  /** The origin behind all nodes. */
  readonly origin: string;
  /** False for nodes that will not know each other, for which the start does not wait. */
  readonly isCurrent?: boolean;
  /** Flags of Node for the process that has these settings. */
  readonly nodeFlags?: (settingsFile: string) => readonly string[];
}

/** Starts the nodes, in front of one origin, and waits until they know each other. */
export async function startFleet({
  origin,
  settings,
  isCurrent = true,
  nodeFlags = () => [],
  ...options
}: TestFleetOptions): Promise<Fleet> {
  program ??= bundleProgram(scratchFolder());
  const path = program;
  const fleet = await Fleet.start({
    nodes: 3,
    ...options,
    program: (file) => [...nodeFlags(file), path, JSON.stringify({ file })],
    settings: (index, folder) => ({ upstream: [`/=${origin}/`], ...settings?.(index, folder) }),
  });
  cleanUp(() => fleet[Symbol.asyncDispose]());
  if (isCurrent) await fleet.untilCurrent(60_000);
  return fleet;
}

export async function startKnownOrigin(options?: ThrottledOriginOptions): Promise<ThrottledOrigin> {
  const origin = await ThrottledOrigin.start(options);
  cleanUp(() => origin[Symbol.asyncDispose]());
  return origin;
}

/** Lets a node store an object, and waits until it offers the object to its neighbours. */
export async function offer(node: FleetNode, path: string): Promise<void> {
  const offered = async () => (await node.status()).cooperation?.own.objects ?? 0;
  const before = await offered();
  const answer = await checkedGet(node.port, path);
  if (answer.status !== 200 || !answer.isWhole)
    throw new Error(`Cannot store ${path}: expected a whole answer of ${node.name}, got ${answer.status}`);
  await until(`${node.name} to offer ${path}`, async () => (await offered()) === before + 1, 30_000);
}

/**
 * Counts of a node over all its neighbours. A failure is a neighbour that did not answer in time:
 * on a busy machine a deadline of 20 ms may pass, and then the origin is asked, as it should be.
 */
export async function countsOf(
  node: FleetNode,
): Promise<{ trueHits: number; falseHits: number; failures: number }> {
  const peers = (await node.status()).cooperation?.peers ?? [];
  const sum = (name: 'trueHits' | 'falseHits' | 'failures') =>
    peers.reduce((total, peer) => total + peer[name], 0);
  return { trueHits: sum('trueHits'), falseHits: sum('falseHits'), failures: sum('failures') };
}

/** Attempts that a busy machine has: with 1 of 2 late, all of them fail once in 1,000 runs. */
const ATTEMPTS = 10;

/**
 * Attempts, with other objects each time, until a neighbour gave one. A neighbour that misses its
 * deadline on a busy machine is no fault, since the origin is asked then.
 */
export async function untilGiven(what: string, attempt: (tried: number) => Promise<boolean>): Promise<void> {
  for (let tried = 0; tried < ATTEMPTS; tried++) if (await attempt(tried)) return;
  throw new Error(`Cannot go on: expected ${what}, got ${ATTEMPTS} answers of the origin`);
}

/** The states of the links to all neighbours, by name. */
export async function statesOf(node: FleetNode): Promise<Record<string, string>> {
  const peers = (await node.status()).cooperation?.peers ?? [];
  return Object.fromEntries(peers.map(({ id, state }) => [id, state]));
}

/** Lets one node store an object, and another one get it from there. */
export async function share(from: FleetNode, to: FleetNode, word: string): Promise<void> {
  await untilGiven(`${to.name} to get an object of ${from.name} (${word})`, async (tried) => {
    const path = knownPath(`${word}/${tried}`, 5000);
    await offer(from, path);
    await to.untilHeard(from);
    const before = (await to.status()).originFetches;
    expect(await checkedGet(to.port, path)).toMatchObject({ status: 200, wrong: null });
    return (await to.status()).originFetches === before;
  });
}
