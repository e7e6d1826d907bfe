/** Intersections compared with those of sets, over sizes, modes, padding, pieces and libraries. */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { ristretto255 } from '../../src/private/sodium.ts';
import { nobleGroup } from './noble-group.ts';
import { openPair, runPair, texts } from './session-lab.ts';

const group = await ristretto255();

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `person${from + i}@example.org`);

describe('both sides learn exactly the common keys', () => {
  test.each([
    [0, 0, 0],
    [0, 5, 0],
    [5, 0, 0],
    [1, 1, 1],
    [1, 1, 0],
    [9, 8, 3],
    [30, 70, 30],
    [100, 60, 17],
  ])('%i keys with %i, of which %i are common', (sizeA, sizeB, common) => {
    const keysA = names(0, sizeA);
    const keysB = names(sizeA - common, sizeA - common + sizeB);
    for (const reveals of ['keys', 'count'] as const) {
      const [a, b] = openPair(
        { keys: keysA, options: { group, reveals }, seed: 1 },
        { keys: keysB, options: { group, reveals }, seed: 2 },
      );
      runPair(a, b);
      const expected = keysA.filter((key) => keysB.includes(key));
      expect(texts(a.result.common)).toEqual(reveals === 'keys' ? expected : null);
      expect(texts(b.result.common)).toEqual(
        reveals === 'keys' ? keysB.filter((key) => keysA.includes(key)) : null,
      );
      expect([a.result.commonCount, b.result.commonCount]).toEqual([common, common]);
      expect([a.result.peerSize, b.result.peerSize]).toEqual([sizeB, sizeA]);
    }
  });

  test('random sets, padded sizes, contexts and pieces', () => {
    const random = new Random(260);
    for (let round = 0; round < withEffort(25, 10); round++) {
      const some = () => names(0, 40).filter(() => random.below(3) === 0);
      const [keysA, keysB] = [some(), some()];
      const reveals = random.pick(['keys', 'count'] as const);
      const context = random.bytes(random.below(20));
      const options = { group, reveals, context };
      const [a, b] = openPair(
        { keys: keysA, options: { ...options, padTo: keysA.length + random.below(20) }, seed: round },
        { keys: keysB, options: { ...options, padTo: keysB.length + random.below(20) }, seed: -round - 1 },
      );
      runPair(a, b, (bytes) => {
        const pieces: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = 1 + random.below(70);
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        return pieces;
      });
      const expected = keysA.filter((key) => keysB.includes(key));
      expect([a.result.commonCount, b.result.commonCount]).toEqual([expected.length, expected.length]);
      if (reveals === 'keys') {
        expect(texts(a.result.common)).toEqual(expected);
        expect(texts(b.result.common)).toEqual(expected);
      }
    }
  });

  test('one side with libsodium and the other with noble-curves', () => {
    const [a, b] = openPair(
      { keys: names(0, 12), options: { group }, seed: 3 },
      { keys: names(8, 20), options: { group: nobleGroup, padTo: 16 }, seed: 4 },
    );
    runPair(a, b);
    expect(texts(a.result.common)).toEqual(names(8, 12));
    expect(texts(b.result.common)).toEqual(names(8, 12));
    expect(a.result.peerSize).toBe(16);
  });

  test('sides with different contexts have nothing in common', () => {
    const keys = names(0, 10);
    const [a, b] = openPair(
      { keys, options: { group, context: Uint8Array.of(1) }, seed: 5 },
      { keys, options: { group, context: Uint8Array.of(2) }, seed: 6 },
    );
    runPair(a, b);
    expect([a.result.commonCount, b.result.commonCount]).toEqual([0, 0]);
  });

  test('keys that come twice count once, and bytes are keys as well', () => {
    const [a, b] = openPair(
      { keys: ['x', 'y', 'x'], options: { group }, seed: 7 },
      { keys: ['x'], options: { group }, seed: 8 },
    );
    runPair(a, b);
    expect(b.result.peerSize).toBe(2);
    expect(texts(a.result.common)).toEqual(['x']);
  });
});
