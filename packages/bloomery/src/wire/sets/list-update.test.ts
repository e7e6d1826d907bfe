import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { HashList } from '../../filters/hash-list/hash-list.ts';
import { FrameError, writeChecksum } from '../../frames/envelope.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import {
  applyListUpdate,
  joinListChanges,
  type ListChanges,
  listChanges,
  makeListUpdate,
  readListUpdate,
} from './list-update.ts';

function listOf(keys: Iterable<number>, options: { bits?: number; seed?: number; hashes?: number } = {}) {
  const list = new HashList({ bits: 40_000, capacity: 400, ...options });
  list.addMany([...keys].map((key) => `key ${key}`));
  return list.encode();
}

/** States of a set whose keys come and go, as frames. */
function history(steps: number, random: Random, hashes = 1): Uint8Array[] {
  const keys = new Set<number>();
  const frames = [listOf(keys, { hashes })];
  for (let i = 0; i < steps; i++) {
    for (let j = random.below(30); j > 0; j--) keys.add(random.below(400));
    for (const key of keys) if (random.below(12) === 0) keys.delete(key);
    frames.push(listOf(keys, { hashes }));
  }
  return frames;
}

const stepsOf = (frames: readonly Uint8Array[]): ListChanges[] =>
  frames.slice(1).map((frame, i) => listChanges(frames[i], frame));

test('an update leads every state since its beginning to the last one, byte for byte', () => {
  const random = new Random(5);
  for (let round = 0; round < withEffort(20, 3); round++) {
    const frames = history(1 + random.below(12), random, 1 + random.below(3));
    const last = frames[frames.length - 1];
    const update = makeListUpdate(last, joinListChanges(stepsOf(frames)));
    for (const frame of frames) expect(applyListUpdate(frame, update)).toEqual(last);
    expect(HashList.decode(applyListUpdate(frames[0], update)).encode()).toEqual(last);
  }
});

test('a state before the beginning of an update leads elsewhere', () => {
  const frames = [listOf([1, 2, 3]), listOf([1, 2]), listOf([1, 2, 4])];
  const update = makeListUpdate(frames[2], listChanges(frames[1], frames[2]));
  expect(applyListUpdate(frames[1], update)).toEqual(frames[2]);
  expect(applyListUpdate(frames[0], update)).not.toEqual(frames[2]);
});

test('joinListChanges keeps a position that came and went, for states in between', () => {
  const frames = [listOf([1]), listOf([1, 2]), listOf([1])];
  const joined = joinListChanges(stepsOf(frames));
  expect([joined.present.length, joined.absent.length]).toEqual([0, 1]);
  const update = makeListUpdate(frames[0], joined);
  for (const frame of frames) expect(applyListUpdate(frame, update)).toEqual(frames[2]);
});

test('no changes take 15 bytes, and change nothing', () => {
  const frame = listOf([1, 2]);
  const update = makeListUpdate(frame, listChanges(frame, frame));
  expect(update.length).toBe(15);
  expect(applyListUpdate(frame, update)).toEqual(frame);
});

test('lists with other sizes, seeds or keys are told apart', () => {
  const frame = listOf([1]);
  const key = new SecretKey(new Uint8Array(16).fill(7));
  const keyed = new HashList({ bits: 40_000, capacity: 400, key });
  const others = [
    listOf([1], { bits: 40_001 }),
    listOf([1], { seed: 3 }),
    listOf([1], { hashes: 2 }),
    keyed.encode(),
  ];
  const update = makeListUpdate(frame, listChanges(listOf([]), frame));
  for (const other of others) {
    expect(() => applyListUpdate(other, update)).toThrow(/expected an update of list/);
    expect(() => listChanges(frame, other)).toThrow(RangeError);
  }
});

test.each([
  ['falling', [3, 2]],
  ['equal', [3, 3]],
  ['above the list', [40_000]],
  ['negative', [-1]],
  ['fractional', [0.5]],
])('makeListUpdate refuses %s positions', (_, positions) => {
  const changes = { present: Float64Array.from(positions), absent: new Float64Array() };
  expect(() => makeListUpdate(listOf([1]), changes)).toThrow(/expected positions that rise below 40000/);
});

test('every prefix, every flipped bit and random bytes are refused or lead to a sound list', () => {
  const random = new Random(9);
  const [from, to] = [listOf([1, 2, 3, 4, 5]), listOf([1, 2, 6, 7, 8, 9])];
  const update = makeListUpdate(from, listChanges(from, to));
  const attempt = (bytes: Uint8Array) => {
    try {
      HashList.decode(applyListUpdate(from, bytes));
      return true;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      return false;
    }
  };
  for (let length = 0; length < update.length; length++) expect(attempt(update.slice(0, length))).toBe(false);
  expect(attempt(Uint8Array.of(...update, 0))).toBe(false);
  let accepted = 0;
  for (let bit = 0; bit < 8 * update.length; bit++) {
    const flipped = update.slice();
    flipped[bit >>> 3] ^= 1 << (bit & 7);
    expect(attempt(flipped)).toBe(false);
    // Under a right checksum, the decoder itself must hold.
    writeChecksum(flipped);
    accepted += +attempt(flipped);
  }
  expect(accepted).toBeGreaterThan(0);
  for (let i = 0; i < withEffort(3000, 300); i++) {
    const bytes = random.bytes(1 + random.below(60));
    if (i % 2 === 0 && bytes.length > 15) {
      bytes.set(update.subarray(0, 9));
      writeChecksum(bytes);
    }
    attempt(bytes);
  }
});

test('a position that is present and absent is refused', () => {
  const frame = listOf([1]);
  const changes = { present: Float64Array.of(5, 9), absent: Float64Array.of(9) };
  const update = makeListUpdate(frame, changes);
  expect(() => readListUpdate(frame, update)).toThrow(/expected each position once, got 9 twice/);
});

test('more positions than maxPositions are refused', () => {
  const [from, to] = [listOf([1]), listOf([1, 2, 3, 4])];
  const update = makeListUpdate(from, listChanges(from, to));
  expect(() => applyListUpdate(from, update, { maxPositions: 2 })).toThrow(/at most 2 positions .*, got 3/);
  expect(applyListUpdate(from, update, { maxPositions: 3 })).toEqual(to);
  expect(() => readListUpdate(from, update, { max: 3 } as never)).toThrow(/got option 'max'/);
});
