import { expect, test } from 'vitest';
import { explore, failureText, replay, type Scenario, shrink } from '../../src/index.ts';
import { summaryScenario } from './summary-protocol.ts';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

test('explore finds nothing in summaries that are asked for again after a gap', async () => {
  const failure = await explore(summaryScenario(false), { seeds: SEEDS });
  expect(failure === null ? '' : failureText(failure)).toBe('');
});

test('explore finds a node that does not ask again, replay repeats it, and shrink leaves one fault', async () => {
  const scenario = summaryScenario(true);
  const failure = await explore(scenario, { seeds: SEEDS });
  expect(failure).toMatchObject({ check: 'convergence' });
  if (failure === null) return;
  expect(failureText(failure)).toMatch(
    /^seed \d+, event \d+, 70000 ms: convergence: . about sim:.: expected/,
  );

  const again = await replay(scenario, failure);
  expect(scenario.converged?.(again)).toBe(failure.problem);
  const once = await replay(scenario, failure);
  expect([once.simulation.hash, once.simulation.eventCount]).toEqual([again.simulation.hash, failure.event]);

  const least = await shrink(scenario, failure);
  expect(failure.faults).toHaveLength(12);
  expect(least.faults).toHaveLength(1);
  // A message is lost without the link being lost.
  expect(least.faults[0].kind).toMatch(/cut|weather/);
  expect(await explore({ ...scenario, faults: 0 }, { seeds: [failure.seed] })).toBe(null);
});

test('explore names the very event after which an invariant broke', async () => {
  const scenario: Scenario<{ count: number }> = {
    nodes: ['a', 'b'],
    program: ({ clock }) => {
      const state = { count: 0 };
      const tick = () => {
        state.count++;
        clock.after(10, tick);
      };
      clock.after(10, tick);
      return state;
    },
    faultyMs: 5000,
    quietMs: 1000,
    faults: 0,
    checkEvery: 64,
    invariant: ({ host }) => (host('b').program!.count > 100 ? 'b counted above 100' : null),
  };
  const failure = await explore(scenario, { seeds: [3] });
  expect(failure).toMatchObject({ seed: 3, check: 'invariant', atMs: 1010, problem: 'b counted above 100' });
  const before = await replay(scenario, { ...failure!, event: failure!.event - 1 });
  expect(before.host('b').program?.count).toBe(100);
  const after = await replay(scenario, failure!);
  expect(after.host('b').program?.count).toBe(101);
});

test('explore reports an error in the code of a node', async () => {
  const failure = await explore(
    {
      nodes: ['a', 'b'],
      program: ({ clock }) => {
        clock.after(7, () => {
          throw new Error('broken');
        });
      },
      faultyMs: 100,
      quietMs: 100,
      faults: 0,
    },
    { seeds: [1] },
  );
  expect(failure).toMatchObject({ check: 'error', atMs: 7 });
  expect(failure?.problem).toContain('expected a timer of a without an error, got Error: broken');
});
