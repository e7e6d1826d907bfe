/** Sets that keep their symbols: changes, sessions with them, and their bytes. */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { FrameError, type Key } from 'bloomery';
import { expect, test } from 'vitest';
import { KeySet } from '../../src/index.ts';
import { carry, pairOf, reconcileInLab } from '../session-lab.ts';

const secret = Uint8Array.from({ length: 16 }, (_, i) => 7 * i + 1);

function numbered(from: number, end: number): string[] {
  return Array.from({ length: end - from }, (_, i) => `key-${from + i}`);
}

function setOf(keys: Iterable<Key>, symbols = 64): KeySet {
  const set = new KeySet({ secret, symbols });
  set.addMany(keys);
  return set;
}

test('KeySet is a set: add, has, delete and size agree with Set over random changes', () => {
  const random = new Random(1);
  const set = new KeySet({ secret, symbols: 64 });
  const model = new Set<number>();
  for (let round = 0; round < withEffort(20_000); round++) {
    const key = random.below(600);
    if (random.below(2) === 0) {
      expect(set.add(key)).toBe(!model.has(key));
      model.add(key);
    } else expect(set.delete(key)).toBe(model.delete(key));
  }
  expect(set.size).toBe(model.size);
  expect(new Set(set)).toEqual(model);
  for (let key = 0; key < 600; key++) expect(set.has(key)).toBe(model.has(key));
  // The symbols are those of a set that never had the other keys.
  expect(set.encode()).toEqual(setOf([...model].sort()).encode());
});

test('KeySet: sessions of two sets with one secret use kept symbols, and are exact', () => {
  const random = new Random(2);
  for (const [only, symbols] of [
    [5, 64],
    [40, 1024],
    [400, 64],
  ]) {
    const a = setOf(numbered(0, 5000), symbols);
    const b = setOf(numbered(only, 5000 + only), symbols);
    const { a: here, b: there } = reconcileInLab(a, b, random);
    expect([...here.onlyHere].sort()).toEqual(numbered(0, only).sort());
    expect([...there.onlyHere].sort()).toEqual(numbered(5000, 5000 + only).sort());
  }
});

test('KeySet: equal sets need one short question and one short answer', () => {
  const result = reconcileInLab(setOf(numbered(0, 3000)), setOf(numbered(0, 3000)), new Random(3));
  expect(result.a.method).toBe('equal');
  expect(result.b.method).toBe('equal');
  expect(result.bytes).toBeLessThan(115);
});

test('KeySet: works with a peer that has plain keys, or another secret', () => {
  const other = new KeySet({ secret: secret.slice().reverse() });
  other.addMany(numbered(1, 2000));
  for (const peer of [numbered(1, 2000), other]) {
    expect(reconcileInLab(setOf(numbered(0, 2000)), peer, new Random(4)).a.onlyHere).toEqual(['key-0']);
    expect(reconcileInLab(peer, setOf(numbered(0, 2000)), new Random(4)).b.onlyHere).toEqual(['key-0']);
  }
});

test('KeySet: a change does not reach a session that has begun', () => {
  const set = setOf(numbered(0, 2000));
  const [a, b] = pairOf(set, numbered(1, 2000), new Random(5));
  set.delete('key-0');
  set.add('later');
  carry(a, b);
  expect(a.result.onlyHere).toEqual(['key-0']);
  expect(reconcileInLab(set, numbered(1, 2000), new Random(5)).a.onlyHere).toEqual(['later']);
});

test('KeySet: the bytes give the set back, and damaged ones are FrameErrors', () => {
  const set = setOf([...numbered(0, 40), 42, new Uint8Array(0)]);
  const bytes = set.encode();
  const again = KeySet.decode(bytes, { secret });
  expect(again.size).toBe(42);
  expect(again.has(42n)).toBe(true);
  expect(again.encode()).toEqual(bytes);
  again.add('x');
  set.add('x');
  expect(again.encode()).toEqual(set.encode());
  expect(reconcileInLab(again, set, new Random(6)).a.method).toBe('equal');

  for (let length = 0; length < bytes.length; length++)
    expect(() => KeySet.decode(bytes.subarray(0, length), { secret }), `${length} bytes`).toThrow(FrameError);
  for (let bit = 0; bit < 8 * bytes.length; bit += 3) {
    const damaged = bytes.slice();
    damaged[bit >> 3] ^= 1 << (bit & 7);
    expect(() => KeySet.decode(damaged, { secret }), `bit ${bit}`).toThrow(FrameError);
  }
  expect(() => KeySet.decode(bytes, { secret: new Uint8Array(16) })).toThrow(
    /Cannot decode key set: expected the secret/,
  );
  expect(() => new KeySet({ secret, symbols: 63 })).toThrow(/64 to 65536 symbols/);
});
