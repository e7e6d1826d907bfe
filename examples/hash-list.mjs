// A filter that was sent compressed, and stays small after it arrives. For sending, few hashes and
// many bits are best (Mitzenmacher, compressed Bloom filters), but such a filter is large when it
// is unpacked. The list of its ones is small.

import assert from 'node:assert/strict';
import { BloomFilter, HashList } from 'bloomery';

const revoked = Array.from({ length: 20_000 }, (_, i) => `certificate ${i * 37}`);

// The received filter: one hash, 92 bits per key, 1.08 % false positives.
const received = new BloomFilter({ bits: 92 * revoked.length, hashes: 1 });
received.addMany(revoked);

// The stored form: the sorted positions of the ones, 21 bits each.
const kept = HashList.fromFilter(received);
assert.ok(kept.byteLength < received.byteLength / 4);
assert.ok(kept.toFilter().equals(received), 'nothing is lost');

// Both give the same answers, including the false positives.
const asked = Array.from({ length: 100_000 }, (_, i) => `certificate ${i}`);
const answers = kept.hasMany(asked);
assert.deepEqual(answers, received.hasMany(asked));
assert.ok(revoked.every((name) => kept.has(name)));

const honest = asked.length - 2703; // 2703 of the queried names are revoked: every 37th
const maybes = answers.reduce((sum, answer) => sum + answer, 0);
const rate = (maybes - 2703) / honest;
assert.ok(Math.abs(rate - 0.0108) < 5 * Math.sqrt(0.0108 / honest), `measured ${rate}`);

// New keys can be added one by one or in batches.
assert.equal(kept.add('certificate of tomorrow'), true);
assert.ok(kept.has('certificate of tomorrow'));

console.log(
  `as an array ${received.byteLength} bytes, as a list ${kept.byteLength}; ${(100 * rate).toFixed(2)} % false positives`,
);
