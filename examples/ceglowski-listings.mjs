// The listings of Maciej Ceglowski's article "Using Bloom Filters" (Perl.com, 2004), in this
// library: a filter by error rate and capacity, the song list, the noisy filters, the shared on
// bits, the composite filter. The last part measures his claim that the false positives of an
// exhaustive search swamp the real keys.

import assert from 'node:assert/strict';
import { BloomFilter, intersectionEstimate } from 'bloomery';

/** Whether a count lies within five standard deviations of the expected one. */
const isNear = (count, trials, rate) =>
  Math.abs(count - trials * rate) <= 5 * Math.sqrt(trials * rate * (1 - rate));
const countHits = (filter, keys) => filter.hasMany(keys).reduce((sum, answer) => sum + answer, 0);

// Bloom::Filter->new( error_rate => 0.01, capacity => $SONG_COUNT )
const songs = Array.from({ length: 20_000 }, (_, i) => `Song No. ${i}`);
const database = new Map(songs.map((title) => [title, { title }]));
const filter = BloomFilter.forCapacity({ capacity: songs.length, falsePositiveRate: 0.01 });
for (const title of songs) filter.add(title);

// sub lookup_song
let queries = 0;
const lookupSong = (title) => {
  if (!filter.has(title)) return undefined;
  queries++;
  return database.get(title);
};
assert.ok(songs.every((title) => lookupSong(title)?.title === title));
queries = 0;
for (let i = 0; i < 50_000; i++) assert.equal(lookupSong(`no such song ${i}`), undefined);
// "you've managed to avoid the expensive query 99% of the time"
assert.ok(isNear(queries, 50_000, 0.01), `${queries} of 50,000`);
const bytesPerKey = filter.byteLength / songs.length;
assert.ok(bytesPerKey < 1.21, 'the article says just under 2 bytes; see docs/papers/errata.md, 10');

// sub check_noisy_filters: five filters at 50 %, each with hash functions of its own
const contacts = Array.from({ length: 500 }, (_, i) => `friend-${i}@example.org`);
const strangers = Array.from({ length: 50_000 }, (_, i) => `stranger-${i}@example.org`);
const noisy = [1, 2, 3, 4, 5].map((seed) => {
  const one = BloomFilter.forCapacity({ capacity: contacts.length, falsePositiveRate: 0.5, seed });
  one.addMany(contacts);
  return one;
});
const checkNoisyFilters = (key, filters) => filters.every((one) => one.has(key));
assert.ok(contacts.every((key) => checkNoisyFilters(key, noisy)));
const expected = noisy.reduce((rate, one) => rate * one.estimatedFalsePositiveRate(), 1);
const passed = strangers.filter((key) => checkNoisyFilters(key, noisy)).length;
// "with five filters the false-positive rate will be (0.5)^5, or 3%"
assert.ok(isNear(passed, strangers.length, expected), `${passed} of 50,000, expected ${expected}`);
assert.ok(Math.abs(expected - 0.5 ** 5) < 0.005);

// sub shared_on_bits, and the OR of two filters of the same length and hash functions
const bookOf = (from, to) => {
  const book = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
  for (let i = from; i < to; i++) book.add(`person ${i}`);
  return book;
};
const [ann, bob, eve] = [bookOf(0, 400), bookOf(200, 600), bookOf(900, 1300)];
assert.ok(ann.sharedOnesCount(bob) > ann.sharedOnesCount(eve), 'a usable measure of the distance');
const { low, high } = intersectionEstimate(ann, bob, { confidence: 1 - 5.7e-7 });
assert.ok(low <= 200 && 200 <= high, 'and an estimate of how many they share');
assert.ok(bookOf(0, 600).equals(ann.union(bob)), 'the composite filter is that of both lists');

// "the false positives from an exhaustive search will swamp the list of real keys": all telephone
// numbers of six digits, of which 1000 are in the filter.
const numbers = Array.from({ length: 1_000_000 }, (_, i) => `${i}`.padStart(6, '0'));
const members = numbers.filter((_, i) => i % 1000 === 7);
const found = [0.1, 0.01, 0.001, 1e-6].map((falsePositiveRate) => {
  const book = BloomFilter.forCapacity({ capacity: members.length, falsePositiveRate });
  book.addMany(members);
  const hits = countHits(book, numbers);
  const rate = book.estimatedFalsePositiveRate();
  assert.ok(isNear(hits - members.length, numbers.length, rate), `${hits} at ${falsePositiveRate}`);
  return hits;
});
// At 10 % one hit in a hundred is real, at 0.1 % every second one, at one in a million nearly all.
const real = found.map((hits) => members.length / hits);
assert.ok(real[0] < 0.011 && real[2] > 0.45 && real[3] > 0.99);

console.log(
  `${bytesPerKey.toFixed(2)} bytes per song; ${queries} of 50,000 queries wasted; noisy filters ${(100 * passed) / strangers.length} %; ` +
    `an exhaustive search finds ${found.join(', ')} numbers of which 1000 are real`,
);
