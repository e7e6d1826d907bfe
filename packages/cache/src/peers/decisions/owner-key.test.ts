import { expect, test } from 'vitest';
import { ownerKey } from './owner-key.ts';

/** The secrets of a node before a change, and after each of its steps. */
const STEPS = (older: number, newer: number) => [[older], [older, newer], [newer, older], [newer]];

test('ownerKey is the same on all nodes while they are one step apart', () => {
  for (const [older, newer] of [
    [1, 2],
    [2, 1],
  ] as const)
    for (let step = 0; step < 3; step++)
      // Three nodes, of which some have gone on already.
      for (let ahead = 0; ahead < 8; ahead++) {
        const lists = [0, 1, 2].map((node) => STEPS(older, newer)[step + ((ahead >> node) & 1)]!);
        const common = (a: readonly number[], b: readonly number[]) => a.filter((id) => b.includes(id));
        const chosen = lists.map((own) =>
          ownerKey(
            own,
            lists.filter((other) => other !== own).map((other) => common(own, other)),
          ),
        );
        expect(new Set(chosen).size, `${step} ${ahead}`).toBe(1);
      }
});

test('ownerKey takes its own first secret if there is none in common', () => {
  expect(ownerKey([5, 3], [[5], [3]])).toBe(5);
  expect(ownerKey([5, 3], [[]])).toBe(3);
  expect(ownerKey([5, 3], [])).toBe(3);
});
