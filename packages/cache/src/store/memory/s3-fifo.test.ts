import { describe, expect, test } from 'vitest';
import { markUsed, type QueueEntry, S3Fifo } from './s3-fifo.ts';

const entry = (key: string, cost = 1): QueueEntry => ({
  key,
  cost,
  uses: 0,
  queue: undefined,
  previous: undefined,
  next: undefined,
});

describe('S3Fifo', () => {
  test('drops the unused in the order in which they came', () => {
    const policy = new S3Fifo({ expectedEntries: 100 });
    for (const key of ['a', 'b', 'c']) policy.add(entry(key));
    expect([policy.evict()?.key, policy.evict()?.key, policy.evict()?.key, policy.evict()]).toEqual([
      'a',
      'b',
      'c',
      undefined,
    ]);
    expect(policy.bytes).toBe(0);
  });

  test('what was used stays longer than what was not', () => {
    const policy = new S3Fifo({ expectedEntries: 100 });
    const used = entry('used');
    policy.add(used);
    markUsed(used);
    for (let i = 0; i < 5; i++) policy.add(entry(String(i)));
    const order = Array.from({ length: 6 }, () => policy.evict()?.key);
    expect(order).toEqual(['0', '1', '2', '3', '4', 'used']);
  });

  test('a key that comes back soon goes to the main queue, past new ones', () => {
    const policy = new S3Fifo({ expectedEntries: 100 });
    policy.add(entry('back'));
    expect(policy.evict()?.key).toBe('back');
    policy.add(entry('back'));
    for (let i = 0; i < 10; i++) policy.add(entry(`new ${i}`));
    for (let i = 0; i < 10; i++) expect(policy.evict()?.key).toBe(`new ${i}`);
    expect(policy.evict()?.key).toBe('back');
  });

  test('new ones have a tenth to themselves: below it, the main queue gives way', () => {
    const policy = new S3Fifo({ expectedEntries: 100 });
    for (let i = 0; i < 19; i++) policy.add(entry(`back ${i}`));
    for (let i = 0; i < 19; i++) policy.evict();
    for (let i = 0; i < 19; i++) policy.add(entry(`back ${i}`));
    for (let i = 0; i < 3; i++) policy.add(entry(`new ${i}`));
    // 3 of 22 are above it, 2 of 21 and of 20 are not.
    const order = Array.from({ length: 3 }, () => policy.evict()?.key);
    expect(order).toEqual(['new 0', 'back 0', 'back 1']);
  });

  test('the ghost forgets: after as many drops as there are entries and half more, a key is new again', () => {
    const policy = new S3Fifo({ expectedEntries: 10_000 });
    policy.add(entry('old'));
    policy.evict();
    for (let i = 0; i < 300; i++) {
      policy.add(entry(`x ${i}`));
      policy.evict();
    }
    const old = entry('old');
    policy.add(old);
    const fresh = entry('never seen');
    policy.add(fresh);
    expect(old.queue).toBe(fresh.queue);
  });

  test('one eviction does a bounded amount of work', () => {
    const policy = new S3Fifo({ expectedEntries: 10_000 });
    const entries = Array.from({ length: 5000 }, (_, i) => entry(String(i)));
    for (const one of entries) {
      policy.add(one);
      for (let use = 0; use < 3; use++) markUsed(one);
    }
    expect(policy.evict()?.key).toBe('1024');
    expect(entries.filter(({ uses }) => uses === 3)).toHaveLength(5000 - 1024);
  });

  test('a new cost counts', () => {
    const policy = new S3Fifo({ expectedEntries: 10 });
    const one = entry('a', 10);
    policy.add(one);
    policy.resize(one, 25);
    expect(policy.bytes).toBe(25);
    policy.remove(one);
    policy.remove(one);
    expect([policy.bytes, policy.length]).toEqual([0, 0]);
  });
});
