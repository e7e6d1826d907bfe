// A crawler does not know how many pages it will find. The filter starts with room for a hundred
// pages, and still has at most one false positive in a hundred when it holds a hundred thousand.

import assert from 'node:assert/strict';
import { BloomFilter, ScalableBloomFilter } from 'bloomery';

const RATE = 0.01;
const seen = new ScalableBloomFilter({ falsePositiveRate: RATE, initialCapacity: 100 });
const fixed = BloomFilter.forCapacity({ capacity: 100, falsePositiveRate: RATE });
const page = (i) => `https://example.org/page/${i}`;
const never = Array.from({ length: 50_000 }, (_, i) => `https://example.org/never/${i}`);
const share = (filter) => filter.hasMany(never).reduce((sum, answer) => sum + answer, 0) / never.length;

let pages = 0;
for (const target of [100, 1000, 10_000, 100_000]) {
  const links = Array.from({ length: target - pages }, (_, i) => page(pages + i));
  // Every link occurs twice; the second occurrence adds nothing.
  const fresh = seen.addMany([...links, ...links]);
  assert.ok(fresh <= links.length);
  fixed.addMany(links);
  pages = target;
  const measured = share(seen);
  assert.ok(measured <= RATE + 5 * Math.sqrt(RATE / never.length), `${measured} at ${pages} pages`);
  console.log(
    `${pages} pages: ${seen.stages.length} stages, ${(100 * measured).toFixed(2)} % false positives; ` +
      `a fixed filter ${(100 * share(fixed)).toFixed(1)} %`,
  );
}

assert.ok(seen.hasMany(Array.from({ length: pages }, (_, i) => page(i))).every((answer) => answer === 1));
assert.ok(Math.abs(seen.estimatedSize() - pages) < 100);
assert.ok(share(fixed) > 0.99, 'a filter of fixed size has given up long ago');
