/**
 * Looks for failures of a scenario over many seeds, repeats one up to its event, and shortens its
 * list of faults.
 *
 * A run has two phases, as TigerBeetle's simulator has them: with faults an invariant must hold at
 * all times (nothing wrong is ever believed), and after a quiet time everything must have converged
 * (nothing is stuck). A protocol that does nothing would pass the first, one that believes anything
 * the second.
 *
 * A failure names its seed and the number of the event after which the invariant broke. The
 * invariant is asked after every k events; the run is then repeated to the last good check and goes
 * on event by event, so that the number is exact.
 */

import { randomStream } from '../engine/random-stream.ts';
import { SimulationError } from '../simulation-error.ts';
import { drawFaults, type Fault, faultText } from './fault.ts';
import { minimise } from './minimise.ts';
import { type Scenario, World } from './world.ts';

export interface Failure {
  readonly seed: number;
  /** The number of the event after which the failure showed. */
  readonly event: number;
  readonly atMs: number;
  /** 'error' means that the code of an event threw. */
  readonly check: 'invariant' | 'convergence' | 'error';
  readonly problem: string;
  readonly faults: readonly Fault[];
}

export interface ExploreOptions {
  readonly seeds: Iterable<number>;
  readonly signal?: AbortSignal | undefined;
}

const CHECK_EVERY = 100;

/** Runs the scenario with each seed. Returns the first failure, or null if there is none. */
export async function explore<P>(
  scenario: Scenario<P>,
  { seeds, signal }: ExploreOptions,
): Promise<Failure | null> {
  for (const seed of seeds) {
    const failure = await runScenario(scenario, seed, faultsOf(scenario, seed), signal);
    if (failure !== null) return failure;
  }
  return null;
}

/** The world of a seed after a number of events, with all faults of the seed or with others. */
export async function replay<P>(
  scenario: Scenario<P>,
  { seed, event, faults = faultsOf(scenario, seed) }: Pick<Failure, 'seed' | 'event'> & Partial<Failure>,
  { signal }: { signal?: AbortSignal } = {},
): Promise<World<P>> {
  const world = new World(scenario, seed, faults);
  await world.simulation.run({ untilMs: scenario.faultyMs + scenario.quietMs, events: event, signal });
  return world;
}

/** The failure with as few faults as still lead to one of its kind. */
export async function shrink<P>(
  scenario: Scenario<P>,
  failure: Failure,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Failure> {
  let least = failure;
  await minimise(failure.faults, async (faults) => {
    const found = await runScenario(scenario, failure.seed, faults, signal);
    if (found?.check !== failure.check) return false;
    least = found;
    return true;
  });
  return least;
}

/** Several lines for people. */
export function failureText({ seed, event, atMs, check, problem, faults }: Failure): string {
  return [
    `seed ${seed}, event ${event}, ${atMs} ms: ${check}: ${problem}`,
    ...faults.map((fault) => `  ${faultText(fault)}`),
  ].join('\n');
}

function faultsOf<P>({ nodes, faults, faultyMs, faultKinds }: Scenario<P>, seed: number): Fault[] {
  const random = randomStream(seed, 'faults');
  return drawFaults(random, nodes, {
    count: faults,
    endMs: faultyMs,
    ...(faultKinds ? { kinds: faultKinds } : {}),
  });
}

async function runScenario<P>(
  scenario: Scenario<P>,
  seed: number,
  faults: readonly Fault[],
  signal: AbortSignal | undefined,
): Promise<Failure | null> {
  const { checkEvery = CHECK_EVERY, converged } = scenario;
  const world = new World(scenario, seed, faults);
  const { simulation } = world;
  const fail = (check: Failure['check'], problem: string): Failure => {
    return { seed, event: simulation.eventCount, atMs: simulation.elapsedMs, check, problem, faults };
  };
  try {
    const lastGood = await runChecked(scenario, world, checkEvery, signal);
    if (lastGood !== null) {
      // Repeats the run up to the last good check, then checks after every event.
      const slow = await replay(scenario, { seed, event: lastGood, faults });
      await runChecked(scenario, slow, 1, signal);
      const problem = scenario.invariant?.(slow) ?? scenario.invariant?.(world) ?? '';
      const { eventCount: event, elapsedMs: atMs } = slow.simulation;
      return { ...fail('invariant', problem), event, atMs };
    }
    const problem = converged?.(world) ?? null;
    return problem === null ? null : fail('convergence', problem);
  } catch (error) {
    if (error instanceof SimulationError) return fail('error', error.message);
    throw error;
  }
}

/**
 * Runs a world to its end, and asks its invariant after every k events. Returns null, or the number
 * of the last event after which the invariant held.
 */
async function runChecked<P>(
  { faultyMs, quietMs, invariant = () => null }: Scenario<P>,
  world: World<P>,
  every: number,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const { simulation } = world;
  for (;;) {
    const before = simulation.eventCount;
    const end = await simulation.run({ untilMs: faultyMs + quietMs, events: every, signal });
    if (invariant(world) !== null) return before;
    if (end === 'time') return null;
  }
}
