// A cache that stores and evicts all day, and the summary that its neighbour holds. The cache keeps
// a counting filter, because a summary without deletion would soon answer "maybe" to every key. The
// neighbour holds only the bits, and receives the list of those that changed.

import assert from 'node:assert/strict';
import { CountingBloomFilter } from 'bloomery';

const stored = CountingBloomFilter.forCapacity({
  capacity: 10_000,
  falsePositiveRate: 0.01,
  trackChanges: true,
});
const url = (i) => `https://cdn.example/asset/${i}.js`;

// The cache is full: ten thousand objects. The neighbour gets a snapshot.
stored.addMany(Array.from({ length: 10_000 }, (_, i) => url(i)));
stored.takeChanges();
const neighbour = stored.snapshot();
assert.ok(neighbour.has(url(0)) && neighbour.has(url(9_999)));

// An hour later five hundred objects have been evicted and as many have been stored.
for (let i = 0; i < 500; i++) {
  assert.ok(stored.delete(url(i)));
  stored.add(url(10_000 + i));
}
const changes = stored.takeChanges();

// Every remaining object is found. Evicted objects are not, except for false positives.
assert.ok(
  stored.hasMany(Array.from({ length: 10_000 }, (_, i) => url(500 + i))).every((answer) => answer === 1),
);
const ghosts = stored
  .hasMany(Array.from({ length: 500 }, (_, i) => url(i)))
  .filter((answer) => answer === 1).length;
assert.ok(ghosts < 30, `${ghosts} of 500 evicted objects still look stored`);

// Deleting a key that is certainly not in the filter changes nothing and returns false.
assert.equal(stored.delete('https://cdn.example/never-stored'), false);

// The changes are the difference of the two snapshots, at most a tenth of the bits.
const differing =
  neighbour.onesCount() + stored.snapshot().onesCount() - 2 * neighbour.sharedOnesCount(stored.snapshot());
assert.equal(changes.length, differing);
assert.ok(changes.length < stored.bits / 10);
console.log(
  `${changes.length} of ${stored.bits} bits changed with 1000 of 10000 objects; ${ghosts} evicted ones still say maybe`,
);
