// Counts how often each word occurs. A spectral Bloom filter counts the words of a text without
// storing any of them, and can delete a chapter again. The program compares the three methods of
// Cohen and Matias.

import assert from 'node:assert/strict';
import { SpectralBloomFilter } from 'bloomery';

const chapters = [text(60_000, 1), text(40_000, 2)];
const words = chapters.flat();
const truth = new Map();
for (const word of words) truth.set(word, (truth.get(word) ?? 0) + 1);

for (const method of ['minimum-selection', 'minimal-increase', 'recurring-minimum']) {
  const filter = SpectralBloomFilter.forCapacity({ capacity: truth.size, falsePositiveRate: 0.01, method });
  filter.addMany(words);
  assert.equal(filter.total, words.length);
  let wrong = 0;
  for (const [word, count] of truth) {
    assert.ok(filter.has(word));
    if (filter.count(word) !== count) wrong++;
    if (method !== 'recurring-minimum') assert.ok(filter.count(word) >= count, 'never below the truth');
  }
  assert.ok(wrong < 0.02 * truth.size);
  console.log(`${method}: ${wrong} of ${truth.size} counts are wrong, in ${filter.byteLength} bytes`);
}

// The second chapter is deleted, which leaves the counts of the first.
const book = SpectralBloomFilter.forCapacity({ capacity: truth.size, falsePositiveRate: 0.001 });
book.addMany(words);
assert.equal(book.deleteMany(chapters[1]), chapters[1].length);
const first = new SpectralBloomFilter({ counters: book.counters, hashes: book.hashes });
first.addMany(chapters[0]);
for (const word of truth.keys()) assert.equal(book.count(word), first.count(word));
assert.equal(book.delete('a word that is not in the book'), false);
console.log(
  `after the cut: "w0" occurs ${book.count('w0')} times, about ${Math.round(book.estimatedSize())} words are in`,
);

/** Words whose frequencies follow Zipf's law; the same in every run. */
function text(length, seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length }, () => `w${Math.floor(8000 ** random()) - 1}`);
}
