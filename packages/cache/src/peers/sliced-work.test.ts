import { TurnClock } from '@bloomery/testkit/turn-clock';
import { expect, test } from 'vitest';
import { SlicedWork, type Steps } from './sliced-work.ts';

/** Work whose steps take 0.3 ms each by the clock of the test. */
function* slow(clock: TurnClock, steps: number, log: string[], name: string): Steps<string> {
  for (let i = 0; i < steps; i++) {
    clock.spentMs += 0.3;
    log.push(`${name}${i}`);
    yield;
  }
  return name;
}

function fail(error: unknown): never {
  throw error;
}

test('SlicedWork ends a slice after a millisecond, and goes on in the next turn', () => {
  const clock = new TurnClock();
  const work = new SlicedWork(clock);
  const log: string[] = [];
  work.run(slow(clock, 10, log, 'a'), (name) => log.push(`${name} done`), fail);
  expect(log).toEqual([]);
  clock.turn();
  expect(log).toEqual(['a0', 'a1', 'a2', 'a3']);
  clock.turn();
  clock.turn();
  expect(log.at(-1)).toBe('a done');
});

test('SlicedWork runs one piece of work after the other, and skips cancelled ones', () => {
  const clock = new TurnClock();
  const work = new SlicedWork(clock);
  const done: string[] = [];
  const log: string[] = [];
  work.run(slow(clock, 2, log, 'a'), (name) => done.push(name), fail);
  const cancel = work.run(slow(clock, 2, log, 'b'), (name) => done.push(name), fail);
  work.run(slow(clock, 2, log, 'c'), (name) => done.push(name), fail);
  cancel();
  for (let turn = 0; turn < 5; turn++) clock.turn();
  expect(done).toEqual(['a', 'c']);
  expect(log).toEqual(['a0', 'a1', 'c0', 'c1']);
});

test('SlicedWork reports work that throws, and goes on with the next', () => {
  const clock = new TurnClock();
  const work = new SlicedWork(clock);
  const seen: unknown[] = [];
  // biome-ignore lint/correctness/useYield: the work fails in its first step
  function* broken(): Steps<string> {
    throw new Error('broken');
  }
  work.run(broken(), fail, (error) => seen.push((error as Error).message));
  work.run(slow(clock, 1, [], 'a'), (name) => seen.push(name), fail);
  for (let turn = 0; turn < 3; turn++) clock.turn();
  expect(seen).toEqual(['broken', 'a']);
});

test('SlicedWork does nothing after close', () => {
  const clock = new TurnClock();
  const work = new SlicedWork(clock);
  const log: string[] = [];
  work.run(slow(clock, 1, log, 'a'), fail, fail);
  work.close();
  clock.turn();
  expect(log).toEqual([]);
});
