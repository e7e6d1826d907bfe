import { describe, expect, it } from 'vitest';
import { giveBack, lend } from './lent-memory.ts';

const KIB = 1024;

describe('lent memory', () => {
  it('is as long as asked for', () => {
    for (const length of [
      0,
      1,
      64 * KIB - 1,
      64 * KIB,
      64 * KIB + 1,
      2048 * KIB,
      2048 * KIB + 1,
      5000 * KIB,
    ]) {
      expect(lend(length).length).toBe(length);
    }
  });

  it('is lent again when it has come back, and to one at a time', () => {
    const first = lend(300 * KIB);
    const meanwhile = lend(300 * KIB);
    expect(meanwhile.buffer).not.toBe(first.buffer);
    giveBack(first.subarray(100));
    const again = lend(290 * KIB);
    expect(again.buffer).toBe(first.buffer);
    expect(lend(290 * KIB).buffer).not.toBe(first.buffer);
  });

  it('is not taken back twice', () => {
    const once = lend(1000 * KIB);
    giveBack(once);
    giveBack(once);
    const [one, other] = [lend(1000 * KIB), lend(1000 * KIB)];
    expect(one.buffer).not.toBe(other.buffer);
  });

  it('takes nothing that was not lent', () => {
    const foreign = Buffer.allocUnsafeSlow(2048 + 128 * KIB);
    giveBack(foreign);
    const pooled = Buffer.from('a small buffer of a pool that all share');
    giveBack(pooled);
    for (let i = 0; i < 20; i++) {
      const { buffer } = lend(128 * KIB);
      expect(buffer).not.toBe(foreign.buffer);
      expect(buffer).not.toBe(pooled.buffer);
    }
  });

  it('keeps at most 16 MB of memory that is not lent', () => {
    const out = Array.from({ length: 20 }, () => lend(2048 * KIB));
    for (const piece of out) giveBack(piece);
    const before = new Set(out.map(({ buffer }) => buffer));
    const after = Array.from({ length: 20 }, () => lend(2048 * KIB).buffer);
    const kept = after.filter((buffer) => before.has(buffer)).length;
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThanOrEqual(8);
  });
});
