// Stores which of sixteen servers holds an object. A directory of 200,000 URLs as a Map takes tens
// of megabytes in every proxy. A Bloomier filter stores the same mapping in a third of a megabyte,
// without the URLs, and an object can still move to another server.

import assert from 'node:assert/strict';
import { BloomierFilter } from 'bloomery';

const OBJECTS = 200_000;
const urlOf = (i) => `https://cdn.example/objects/${i.toString(36)}`;
const serverOf = (i) => (i * 2654435761) % 16;

const directory = new Map(Array.from({ length: OBJECTS }, (_, i) => [urlOf(i), serverOf(i)]));
const where = BloomierFilter.from(directory, { valueBits: 4, falsePositiveRate: 0.01 });

// The filter returns the right server for every object.
assert.ok([...directory].every(([url, server]) => where.get(url) === server));

// An object moves. The entries of the other objects do not change.
where.set(urlOf(42), 7);
directory.set(urlOf(42), 7);
assert.deepEqual([...where.getMany(directory.keys())], [...directory.values()]);

// A URL that is not in the directory gets no server, except for one in 128.
const strangers = Array.from({ length: 100_000 }, (_, i) => `https://elsewhere.example/${i}`);
const wrong = strangers.filter((url) => where.get(url) !== undefined).length;
const expected = strangers.length * where.falsePositiveRate;
assert.ok(Math.abs(wrong - expected) < 5 * Math.sqrt(expected), `${wrong} wrong answers`);

// Keys cannot be added, and the error says so.
const absent = strangers.find((url) => !where.has(url));
assert.throws(() => where.set(absent, 1), /expected a key of the set/);

const copy = BloomierFilter.decode(where.encode());
assert.equal(copy.get(urlOf(42)), 7);
console.log(`${where.size} objects in ${where.byteLength} bytes, ${where.bitsPerKey.toFixed(1)} bits each`);
console.log(
  `${wrong} of ${strangers.length} strangers were given a server (${expected.toFixed(0)} expected)`,
);
