import { expect, test } from 'vitest';
import { Random } from '../../../bloomery/test/statistics.ts';
import { KnownKeys } from './known-keys.ts';

test('the same as a Set, through growth and deletions', () => {
  const random = new Random(1);
  const known = new KnownKeys();
  const model = new Set<string>();
  for (let i = 0; i < 100_000; i++) {
    // First it fills, then it empties.
    const key = `http://example.org/${random.below(5_000)}`;
    if (random.below(100) < (i < 50_000 ? 60 : 30)) {
      known.add(key);
      model.add(key);
    } else {
      known.delete(key);
      model.delete(key);
    }
    if (known.size !== model.size)
      expect.fail(`${known.size} keys instead of ${model.size} after ${i} commands`);
  }
  for (let i = 0; i < 5_000; i++) {
    const key = `http://example.org/${i}`;
    if (known.has(key) !== model.has(key)) expect.fail(`${key}: ${known.has(key)}`);
  }
});

test('memory is what is stated', () => {
  const known = new KnownKeys();
  for (let i = 0; i < 100_000; i++) known.add(String(i));
  expect(known.byteLength / known.size).toBeLessThan(22);
  expect(known.byteLength / known.size).toBeGreaterThan(10);
});
