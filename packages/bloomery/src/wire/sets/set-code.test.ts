import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { FrameError } from '../../frames/envelope.ts';
import { PositionSet } from './position-set.ts';
import { MAX_UNIVERSE, type PositionChanges, PositionSum } from './positions.ts';
import { decodeChanges, decodeSet, encodeChanges, encodeSet, type PositionState } from './set-code.ts';
import { finishSteps } from './steps.ts';

const NO_LIMIT = 2 ** 31;

const CASES: readonly [count: number, universe: number][] = [
  [0, 1],
  [1, 1],
  [0, 2 ** 48],
  [1, 2 ** 48],
  [3, 3],
  [50, 100],
  [999, 1000],
  [5000, 2 ** 20],
  [5000, 2 ** 48],
  [2000, 4_000_000_007],
];

describe.each(CASES)('a set of %i positions below %i', (count, universe) => {
  const state = randomState(count, universe, 5);

  test('reads back as it was', () => {
    const code = finishSteps(encodeSet(state));
    const back = finishSteps(decodeSet(code, NO_LIMIT));
    expect([...back.positions]).toEqual([...state.positions]);
    expect([back.universe, back.keyId, back.sum.value]).toEqual([universe, 5, state.sum.value]);
  });

  test('reads back its changes', () => {
    const random = new Random(count);
    const changes = randomChanges(random, state, Math.ceil(count / 3), Math.ceil(count / 4));
    const code = codeOf(state, changes);
    expect(finishSteps(decodeChanges(code, state, NO_LIMIT))).toEqual(changes);
  });
});

/** log2 of n over k, by Stirling's series: the error is below a hundredth of a bit here. */
function logChoose(n: number, k: number): number {
  const logFactorial = (x: number) =>
    x < 2 ? 0 : (x + 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * x);
  return (logFactorial(n) - logFactorial(k) - logFactorial(n - k)) * Math.LOG2E;
}

describe('sizes', () => {
  test.each([
    [100_000, 0.0108, 1.005],
    [100_000, 0.02 / 256, 1.003],
    [10_000, 0.03, 1.01],
  ])('a set of %i at a rate of %f is within %f times its entropy', (count, rate, most) => {
    const universe = Math.round(count / rate);
    const code = finishSteps(encodeSet(randomState(count, universe)));
    const entropy = logChoose(universe, count) / 8;
    expect(code.length / entropy).toBeGreaterThan(0.999);
    expect(code.length / entropy).toBeLessThan(most);
  });

  test.each([
    [0.01, 0.0108, 2900],
    [0.05, 0.0108, 11_400],
    [0.01, 0.02 / 256, 3800],
  ])('changes of a share of %f at a rate of %f are within 1 %% of their entropy', (share, rate, most) => {
    const count = 100_000;
    const universe = Math.round(count / rate);
    const state = randomState(count, universe);
    const code = codeOf(state, randomChanges(new Random(9), state, share * count, share * count));
    const entropy = (logChoose(count, share * count) + logChoose(universe - count, share * count)) / 8;
    expect(code.length / entropy).toBeLessThan(1.01);
    expect(code.length).toBeLessThan(most);
  });
});

describe('untrusted bytes', () => {
  const state = randomState(40, 10_000, 3);
  const changes = randomChanges(new Random(4), state, 6, 9);
  const whole = finishSteps(encodeSet(state));
  const delta = codeOf(state, changes);
  const readers: readonly [string, Uint8Array, (code: Uint8Array) => bigint][] = [
    ['a set', whole, (code) => finishSteps(decodeSet(code, 1000)).sum.value],
    ['changes', delta, (code) => sumAfter(state, finishSteps(decodeChanges(code, state, 1000)))],
  ];

  test.each(readers)('%s: every strict prefix and a byte more is refused', (_, code, read) => {
    read(code);
    for (let length = 0; length < code.length; length++) {
      expect(() => read(code.subarray(0, length)), `${length} bytes`).toThrow(FrameError);
    }
    expect(() => read(Uint8Array.of(...code, 0))).toThrow(FrameError);
  });

  test.each(readers)('%s: every flipped bit is refused or gives another sum', (_, code, read) => {
    for (let bit = 0; bit < 8 * code.length; bit++) {
      const flipped = code.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      expect(sumOrRefusal(read, flipped)).not.toBe(read(code));
    }
  });

  test.each(readers)('%s: random bytes are refused or read within the limit', (_, code, read) => {
    const random = new Random(8);
    for (let i = 0; i < withEffort(3000); i++) {
      const bytes = i % 2 === 0 ? random.bytes(random.below(40)) : code.slice();
      if (i % 2 === 1) bytes.set(random.bytes(3), random.below(bytes.length - 3));
      sumOrRefusal(read, bytes); // throws nothing but a FrameError
    }
  });

  test('a count above the limit or above the bits at hand is refused before memory is taken', () => {
    const claim = (...numbers: number[]) => Uint8Array.from(numbers);
    expect(() => finishSteps(decodeSet(whole, 39))).toThrow(/at most 39 positions/);
    // Key id 0, a universe of 2^42, 2^31 positions, parameter 1, two bytes.
    const huge = claim(0, 128, 128, 128, 128, 128, 128, 1, 128, 128, 128, 128, 8, 1, 255, 255);
    expect(() => finishSteps(decodeSet(huge, NO_LIMIT))).toThrow(
      /the codes of 2147483648 numbers, got 2 bytes/,
    );
    expect(() => finishSteps(decodeChanges(delta, state, 42))).toThrow(/at most 42 positions/);
    expect(() => finishSteps(decodeChanges(claim(0, 200, 1, 1, 255), state, 1000))).toThrow(/codes of 200/);
    expect(() => finishSteps(decodeChanges(claim(41, 0, 1), state, 1000))).toThrow(FrameError);
    expect(() => finishSteps(decodeSet(claim(0, 0, 0), 10))).toThrow(/universe of at least 1/);
    expect(() => finishSteps(decodeSet(claim(0, 9, 1, 0, 1), 10))).toThrow(/parameter of at least 1/);
  });

  test('an added position that is in the set already is refused', () => {
    const [known] = state.positions;
    const code = codeOf(state, { removed: new Float64Array(0), added: Float64Array.of(known) });
    expect(() => finishSteps(decodeChanges(code, state, 1000))).toThrow(/not in the set/);
  });
});

test('the largest numbers fit', () => {
  const positions = new PositionSet();
  for (const position of [0, 2 ** 47, MAX_UNIVERSE - 1]) positions.append(position);
  const sum = PositionSum.ofEmpty(MAX_UNIVERSE, 2 ** 32 - 1);
  for (const position of positions) sum.add(position);
  const code = finishSteps(encodeSet({ universe: MAX_UNIVERSE, keyId: 2 ** 32 - 1, positions }));
  const back = finishSteps(decodeSet(code, 3));
  expect([...back.positions]).toEqual([...positions]);
  expect(back.sum.value).toBe(sum.value);
});

function sumOrRefusal(read: (code: Uint8Array) => bigint, code: Uint8Array): bigint | undefined {
  try {
    return read(code);
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}

function sumAfter({ sum }: PositionState, { removed, added }: PositionChanges): bigint {
  const after = sum.copy();
  for (const position of removed) after.subtract(position);
  for (const position of added) after.add(position);
  return after.value;
}

function codeOf(state: PositionState, { removed, added }: PositionChanges): Uint8Array {
  const ranks = removed.map((position) => state.positions.rank(position));
  const { universe, positions } = state;
  return finishSteps(encodeChanges({ size: positions.size, universe, ranks, added }));
}

function randomState(count: number, universe: number, keyId = 0): PositionState {
  const random = new Random(count + 17);
  const chosen = new Set<number>();
  while (chosen.size < count) chosen.add(uniform(random, universe));
  const positions = new PositionSet();
  const sum = PositionSum.ofEmpty(universe, keyId);
  for (const position of [...chosen].sort((a, b) => a - b)) {
    positions.append(position);
    sum.add(position);
  }
  return { universe, keyId, positions, sum };
}

function randomChanges(random: Random, state: PositionState, out: number, into: number): PositionChanges {
  const { positions, universe } = state;
  const removed = new Set<number>();
  while (removed.size < out) removed.add(positions.select(random.below(positions.size)));
  const added = new Set<number>();
  while (added.size < Math.min(into, universe - positions.size)) {
    const position = uniform(random, universe);
    if (!positions.has(position)) added.add(position);
  }
  return { removed: Float64Array.from(removed).sort(), added: Float64Array.from(added).sort() };
}

function uniform(random: Random, universe: number): number {
  return Math.floor((random.below(2 ** 24) / 2 ** 24 + random.below(2 ** 24) / 2 ** 48) * universe);
}
