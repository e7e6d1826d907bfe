import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { RotatingBloomFilter, SecretKey } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { Admission } from './admission.ts';

describe('Admission', () => {
  test('refuses a key at first sight and admits it at second', () => {
    const admission = new Admission({ capacity: 1000 });
    expect(admission.wouldAdmit('http://a/')).toBe(false);
    expect(admission.admit('http://a/')).toBe(false);
    expect(admission.wouldAdmit('http://a/')).toBe(true);
    expect(admission.admit('http://a/')).toBe(true);
    expect(admission.statistics).toMatchObject({ admitted: 1, refused: 1 });
  });

  test('no false negative: whatever is among the last `capacity` distinct keys is admitted', () => {
    const capacity = 500;
    const admission = new Admission({ capacity });
    for (let i = 0; i < 20 * capacity; i++) {
      admission.admit(`http://a/${i}`);
      // At each distance within the window, one after the other.
      const distance = i % capacity;
      if (i >= distance) expect(admission.wouldAdmit(`http://a/${i - distance}`)).toBe(true);
    }
  });

  test('forgets what is older than one and a half windows', () => {
    const capacity = 1000;
    const admission = new Admission({ capacity, falsePositiveRate: 1e-6 });
    for (let i = 0; i < 5 * capacity; i++) {
      admission.admit(`http://a/${i}`);
      if (i >= 1.5 * capacity) expect(admission.wouldAdmit(`http://a/${i - 1.5 * capacity}`)).toBe(false);
    }
  });

  test.each([0.1, 0.01, 0.001])(
    'one-hit wonders are admitted at the rate of theory, below %f',
    (falsePositiveRate) => {
      const capacity = 20_000;
      const wonders = withEffort(400_000);
      const admission = new Admission({ capacity, falsePositiveRate });
      const { bits, hashes } = new RotatingBloomFilter({ capacity: capacity / 2, falsePositiveRate });
      // Of one generation with n keys; the newest goes from 0 to full, two more are full.
      const rate = (n: number) => (-Math.expm1(hashes * n * Math.log1p(-1 / bits))) ** hashes;
      const full = rate(capacity / 2);
      let mean = 0;
      for (let n = 0; n < capacity / 2; n++) mean += 1 - (1 - rate(n)) * (1 - full) ** 2;
      mean /= capacity / 2;
      for (let i = 0; i < 2 * capacity; i++) admission.admit(`http://warm/${i}`);
      let admitted = 0;
      for (let i = 0; i < wonders; i++) if (admission.admit(`http://wonder/${i}`)) admitted++;
      expectNormal(
        admitted,
        mean * wonders,
        Math.sqrt(mean * (1 - mean) * wonders),
        `wonders at ${falsePositiveRate}`,
      );
      expect(mean).toBeLessThan(falsePositiveRate);
      expect(admission.estimatedFalsePositiveRate()).toBeLessThan(falsePositiveRate * 1.1);
    },
  );

  test('memory is what is stated: 17.9 bits per key of the window at 1 %', () => {
    const { bytes } = new Admission({ capacity: 1_000_000 }).statistics;
    expect((8 * bytes) / 1_000_000).toBeGreaterThan(17.5);
    expect((8 * bytes) / 1_000_000).toBeLessThan(18);
  });

  test('with a secret key it works the same', () => {
    const admission = new Admission({ capacity: 100, key: new SecretKey(new Uint8Array(16).fill(7)) });
    expect(admission.admit('http://a/')).toBe(false);
    expect(admission.admit('http://a/')).toBe(true);
  });
});
