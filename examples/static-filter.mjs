// A registry publishes the names of packages that were found to be malicious. Every installer keeps the list as a
// static filter: it is built once a day, asked at every install, and must be small. Only a "maybe" costs a
// question to the registry.

import assert from 'node:assert/strict';
import { BloomFilter, StaticFilter } from 'bloomery';

const MALICIOUS = 100_000;
const bad = Array.from({ length: MALICIOUS }, (_, i) => `evil-package-${(i * 7919) % 1_000_003}`);
const good = Array.from({ length: 500_000 }, (_, i) => `package-${i}`);

// The registry builds the list from whatever order its database gives; the bytes are always the same.
const list = StaticFilter.from(bad, { falsePositiveRate: 1 / 256 });
const frame = list.encode();
assert.deepEqual(StaticFilter.from([...bad].reverse(), { falsePositiveRate: 1 / 256 }).encode(), frame);
assert.equal(list.size, MALICIOUS);

// An installer reads it, and lets nothing on it pass.
const installed = StaticFilter.decode(frame);
assert.ok(bad.every((name) => installed.has(name)));

// Of harmless packages one in 256 has to be asked about.
const questions = installed.hasMany(good).reduce((sum, answer) => sum + answer, 0);
const expected = good.length / 256;
assert.ok(Math.abs(questions - expected) < 5 * Math.sqrt(expected), `${questions} questions`);

// A Bloom filter of the same rate is larger by more than a quarter, and could be added to.
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
