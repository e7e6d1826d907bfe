// A registry publishes the names of malicious packages. Every installer keeps the list as a static
// filter, which is built once a day, queried at every install, and must be small. Only the answer
// "maybe" costs a request to the registry.

import assert from 'node:assert/strict';
import { BloomFilter, StaticFilter } from 'bloomery';

const MALICIOUS = 100_000;
const bad = Array.from({ length: MALICIOUS }, (_, i) => `evil-package-${(i * 7919) % 1_000_003}`);
const good = Array.from({ length: 500_000 }, (_, i) => `package-${i}`);

// The bytes of the list do not depend on the order in which the database returns the names.
const list = StaticFilter.from(bad, { falsePositiveRate: 1 / 256 });
const frame = list.encode();
assert.deepEqual(StaticFilter.from([...bad].reverse(), { falsePositiveRate: 1 / 256 }).encode(), frame);
assert.equal(list.size, MALICIOUS);

// An installer reads the list, and recognises every name on it.
const installed = StaticFilter.decode(frame);
assert.ok(bad.every((name) => installed.has(name)));

// One in 256 harmless packages needs a request to the registry.
const questions = installed.hasMany(good).reduce((sum, answer) => sum + answer, 0);
const expected = good.length / 256;
assert.ok(Math.abs(questions - expected) < 5 * Math.sqrt(expected), `${questions} questions`);

// A Bloom filter of the same rate is larger by more than a quarter, but keys can be added to it.
const bloom = BloomFilter.forCapacity({ capacity: MALICIOUS, falsePositiveRate: 1 / 256 });
bloom.addMany(bad);
assert.ok(bloom.encode().length > 1.25 * frame.length);

console.log(
  `${MALICIOUS} names in ${frame.length} bytes: ${list.bitsPerKey.toFixed(2)} bits a name, the bound is 8,`,
  `a Bloom filter takes ${((8 * bloom.encode().length) / MALICIOUS).toFixed(2)}`,
);
console.log(
  `${questions} of ${good.length} harmless packages had to be asked about (${expected.toFixed(0)} expected)`,
);
