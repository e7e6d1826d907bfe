import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, it } from 'vitest';
import { finishSteps } from '../sets/steps.ts';
import { ChangeHistory } from './sync-history.ts';

/** A sum that is none, and tells generations apart. */
const at = (sequence: number) => ({ epoch: 1n, sequence, sum: BigInt(sequence) * 1000n });

describe('the history of changes', () => {
  it('is the difference between then and now, for every generation it knows', () => {
    const random = new Random(41);
    for (let round = 0; round < withEffort(6); round++) {
      const bits = 1 + random.below(round % 2 === 0 ? 300 : 30_000);
      const history = new ChangeHistory(bits, 1 + random.below(12), 10 ** 9);
      const states = [new Set<number>()];
      for (let s = 0; s < 30; s++) {
        const changed = new Set(Array.from({ length: random.below(40) }, () => random.below(bits)));
        const next = new Set(states[s]);
        for (const bit of changed) if (!next.delete(bit)) next.add(bit);
        states.push(next);
        history.push(at(s), Float64Array.from([...changed].sort((a, b) => a - b)));
        for (let then = 0; then <= s; then++) {
          expect(history.knows(at(then))).toBe(then > s - history.length);
          if (!history.knows(at(then))) continue;
          const differing = new Set(
            [...next, ...states[then]].filter((bit) => next.has(bit) !== states[then].has(bit)),
          );
          expect(onesOf(history.changesSince(then))).toEqual([...differing].sort((a, b) => a - b));
          expect([...finishSteps(history.positionsSince(then))]).toEqual(
            [...differing].sort((a, b) => a - b),
          );
        }
        expect(history.knows(at(s + 1))).toBe(false);
      }
    }
  });

  it('keeps positions below 2^48', () => {
    const history = new ChangeHistory(2 ** 48, 8, 1000);
    const far = Float64Array.of(0, 2 ** 42, 2 ** 47, 2 ** 48 - 2, 2 ** 48 - 1);
    history.push(at(0), far);
    history.push(at(1), Float64Array.of(2 ** 47));
    expect(finishSteps(history.positionsSince(0))).toEqual(
      Float64Array.of(0, 2 ** 42, 2 ** 48 - 2, 2 ** 48 - 1),
    );
  });

  it('knows a generation by its sum', () => {
    const history = new ChangeHistory(100, 8, 1000);
    history.push(at(5), Float64Array.of(1));
    expect(history.knows(at(5))).toBe(true);
    expect(history.knows({ ...at(5), sum: 1n })).toBe(false);
    expect(history.knows(at(4))).toBe(false);
    expect(history.knows(at(6))).toBe(false);
  });

  it('forgets the oldest by number and by bytes', () => {
    const byNumber = new ChangeHistory(1000, 3, 1000);
    const byBytes = new ChangeHistory(1000, 100, 25);
    for (let s = 0; s < 10; s++) {
      const changed = Float64Array.from({ length: 10 }, (_, i) => i);
      byNumber.push(at(s), changed);
      byBytes.push(at(s), changed);
    }
    expect([byNumber.length, byNumber.byteLength]).toEqual([3, 30]);
    expect([byBytes.length, byBytes.byteLength]).toEqual([2, 20]);
    expect([...Array(10).keys()].filter((s) => byBytes.knows(at(s)))).toEqual([8, 9]);
    byBytes.push(
      at(10),
      Float64Array.from({ length: 26 }, (_, i) => i),
    );
    expect([byBytes.length, byBytes.byteLength]).toEqual([0, 0]);
    byBytes.push(at(11), Float64Array.of(4));
    expect(byBytes.knows(at(11))).toBe(true);
    const exact = new ChangeHistory(1000, 100, 10);
    for (let s = 0; s < 3; s++)
      exact.push(
        at(s),
        Float64Array.from({ length: 5 }, (_, i) => i),
      );
    expect([exact.length, exact.byteLength]).toEqual([2, 10]); // as many bytes as it may have
    const none = new ChangeHistory(1000, 0, 1000);
    none.push(at(0), Float64Array.of(1));
    expect(none.length).toBe(0);
  });

  it('keeps gaps of any length, however many', () => {
    const bits = 2 ** 25;
    for (const [count, gap] of [
      [1, bits],
      [6, 2 ** 21 + 1],
      [9, 2 ** 21 - 1],
      [33, 2 ** 19],
      [1000, 2 ** 14 + 5],
      [1001, 2 ** 14],
      [5000, 127],
      [5000, 129],
    ]) {
      const history = new ChangeHistory(bits, 8, 10 ** 9);
      const positions = Float64Array.from({ length: count }, (_, i) => (i + 1) * gap - 1);
      history.push(at(0), positions);
      expect(onesOf(history.changesSince(0))).toEqual([...positions]);
    }
  });

  it('keeps positions beyond 32 bits', () => {
    const history = new ChangeHistory(64, 8, 1000);
    history.push(at(0), Float64Array.of(2, 2 ** 35 + 5));
    // The array is for 64 bits. Positions beyond are lost there, but the bytes were written and
    // read.
    expect(history.byteLength).toBe(1 + 6);
    expect([...history.changesSince(0)]).toEqual([4, 0]);
  });
});

function onesOf(words: Uint32Array): number[] {
  const ones: number[] = [];
  for (const [i, word] of words.entries()) {
    for (let bit = 0; word >>> bit !== 0 && bit < 32; bit++) if ((word >>> bit) & 1) ones.push(32 * i + bit);
  }
  return ones;
}
