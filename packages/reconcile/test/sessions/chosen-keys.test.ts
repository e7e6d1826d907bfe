/**
 * An adversary that chooses keys. If it knows the randomness of a session beforehand, it can find
 * keys that take part in symbol 0 and then in none for a long time: symbols cannot tell them apart.
 * With fresh randomness the same keys are as good as random ones.
 */

import { Random } from '@bloomery/testkit/statistics';
import { hashKeys } from 'bloomery';
import { expect, test } from 'vitest';
import { Reconciler } from '../../src/index.ts';
import { sessionScheme } from '../../src/sets/session-salt.ts';
import { IdMapping } from '../../src/symbols/id-mapping.ts';
import { carry, reconcileInLab } from '../session-lab.ts';

const KNOWN_A = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const KNOWN_B = Uint8Array.of(9, 8, 7, 6, 5, 4, 3, 2);

/** Keys whose sequences under the known salt leave out the symbols 1 to `until`. */
function craftedKeys(count: number, until: number): number[] {
  const scheme = sessionScheme(KNOWN_A, null, 0);
  const mapping = new IdMapping();
  const found: number[] = [];
  for (let start = 1e9; found.length < count; start += 4096) {
    const tried = Array.from({ length: 4096 }, (_, i) => start + i);
    const { words } = hashKeys(tried, scheme);
    for (let i = 0; i < tried.length && found.length < count; i++) {
      // Sessions of these sets take ids of 4 bytes.
      mapping.start(words[2 * i + 1], 0);
      mapping.step();
      if (mapping.index > until) found.push(tried[i]);
    }
  }
  return found;
}

const COMMON = Array.from({ length: 40_000 }, (_, i) => i);
const CRAFTED = craftedKeys(30, 250);

function run(random: readonly [Uint8Array, Uint8Array]) {
  const a = new Reconciler(COMMON, { role: 'initiator', random: random[0] });
  const b = new Reconciler([...COMMON, ...CRAFTED], { role: 'responder', random: random[1] });
  carry(a, b);
  expect(b.result.onlyHere).toEqual(CRAFTED);
  expect(a.result.onlyThereCount).toBe(30);
  return a.progress;
}

test('crafted keys stall a session whose randomness is known beforehand, and it is still exact', () => {
  expect(run([KNOWN_A, KNOWN_B]).symbols).toBeGreaterThan(150);
});

test('crafted keys are as good as random ones under fresh randomness', () => {
  const random = new Random(1);
  for (let round = 0; round < 20; round++) {
    const { symbols, attempts } = run([random.bytes(8), random.bytes(8)]);
    expect(symbols).toBeLessThan(110);
    expect(attempts).toBe(1);
  }
});

test('a responder that chose keys beforehand gains nothing, because the initiator salts', () => {
  expect(run([new Random(2).bytes(8), KNOWN_B]).symbols).toBeLessThan(110);
});

test('an initiator that chose keys and salt stalls its own first attempt, and no later one', () => {
  // In attempt 1 the responder's randomness takes part.
  const { attempts, symbols } = run([KNOWN_A, new Random(2).bytes(8)]);
  expect(symbols).toBeGreaterThan(150);
  expect(attempts).toBeLessThan(3);
});

test('a stalled session ends with another salt after bounded symbols', () => {
  const crafted = craftedKeys(4, 400);
  const a = new Reconciler(COMMON, { role: 'initiator', random: KNOWN_A });
  const b = new Reconciler([...COMMON, ...crafted], { role: 'responder', random: KNOWN_B });
  carry(a, b);
  expect(b.result.onlyHere).toEqual(crafted);
  expect(a.progress.attempts).toBe(2);
  expect(a.progress.symbols).toBeLessThan(600);
});

test('crafted keys do not harm a session of other keys', () => {
  const result = reconcileInLab([...COMMON, ...CRAFTED], [...CRAFTED, 'x'], new Random(3));
  expect(result.a.onlyHere).toEqual(COMMON);
});
