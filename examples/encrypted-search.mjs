// A search that hides the query from the go-between, and the documents from the one who asks: after
// Bellovin and Cheswick, "Privacy-Enhanced Searches Using Encrypted Bloom Filters" (2004), which
// Ceglowski's article names. An example and no product: the table at its end says what leaks, and
// each line of it is asserted here. (Whether patents cover it was not checked.)
//
// Bob has documents, each with a Bloom filter of its words, encrypted under his key. Alice encrypts
// the words of her query under her own key. Ted, who is in between, has the ratio of the two keys,
// and turns a word under Alice's key into one under Bob's without being able to read either. The
// paper's cipher is that of Pohlig and Hellman; ours is the same in a group of prime order: a word
// is hashed to a point, and a key is a scalar.

import assert from 'node:assert/strict';
import { BloomFilter } from 'bloomery';
import sodium from 'libsodium-wrappers-sumo';

await sodium.ready;

const newKey = () => sodium.crypto_core_ristretto255_scalar_random();
const pointOf = (word) =>
  sodium.crypto_core_ristretto255_from_hash(sodium.crypto_hash_sha512(`encrypted search: ${word}`));
const times = (scalar, point) => sodium.crypto_scalarmult_ristretto255(scalar, point);
const encrypt = (key, word) => times(key, pointOf(word));
const ratio = (from, to) =>
  sodium.crypto_core_ristretto255_scalar_mul(to, sodium.crypto_core_ristretto255_scalar_invert(from));
const same = (a, b) => sodium.memcmp(a, b);

// Bob's documents and their filters. Words are in a filter only under his key.
const documents = [
  'the quick brown fox jumps over the lazy dog',
  'a bloom filter turns a set into a small message',
  'the message of the fox was small',
];
const bobKey = newKey();
const index = documents.map((text) => {
  const words = [...new Set(text.split(' '))];
  const filter = BloomFilter.forCapacity({ capacity: 64, falsePositiveRate: 1e-6 });
  for (const word of words) filter.add(encrypt(bobKey, word));
  // Random points fill it up, so that it does not tell how many words a document has.
  for (let i = words.length; i < 64; i++) filter.add(sodium.crypto_core_ristretto255_random());
  return filter;
});

// Alice asks. Ted has the ratio; how the two make it without giving him a key is not shown.
const aliceKey = newKey();
const tedRatio = ratio(aliceKey, bobKey);
const query = ['small', 'message'].map((word) => encrypt(aliceKey, word)); // Alice to Ted
const forwarded = query.map((point) => times(tedRatio, point)); // Ted to Bob
const matching = (points) =>
  index.flatMap((filter, i) => (points.every((point) => filter.has(point)) ? [i] : []));
assert.deepEqual(matching(forwarded), [1, 2]);
assert.ok(same(forwarded[0], encrypt(bobKey, 'small')), 'the same word, under the other key');

// The leakage table, line by line.
const dictionary = ['small', 'large', 'message', 'fox', 'dog', 'filter'];
const readable = (points, key) =>
  dictionary.filter((word) => points.some((point) => same(point, encrypt(key, word))));

const rows = [];
const leak = (who, has, learns) => rows.push(`${who.padEnd(20)} ${has.padEnd(32)} ${learns}`);

// Without the other's key, points are random: no word of the dictionary can be tested.
assert.deepEqual(readable(query, newKey()), []);
leak('a listener', 'points on the wire', 'how many words, and nothing about them');

// An index that gets lost is asked with points of another key.
assert.ok(index.every((filter) => !dictionary.some((word) => filter.has(encrypt(newKey(), word)))));
leak('a thief', "Bob's index, not his key", 'nothing: every guess is a guess of the key');

// Alice cannot test words on the index herself: her points are under her key.
assert.deepEqual(matching([query[0]]), []);
leak('Alice', 'her key, the result', 'which documents match, and only through Ted');

// Ted sees that a query comes again, but not what it is.
assert.ok(same(query[0], encrypt(aliceKey, 'small')), 'the cipher is deterministic');
assert.deepEqual(readable(query, tedRatio), []);
leak('Ted', "the ratio, Alice's points", 'who asks, how often, and which queries are equal');

// Bob can encrypt a dictionary under his own key: he reads the query. Random points beside it do
// not hide it.
assert.deepEqual(readable(forwarded, bobKey), ['small', 'message']);
leak('Bob', 'his key, the forwarded points', 'the query, if its words are in a dictionary');
const noise = Array.from({ length: 6 }, () => sodium.crypto_core_ristretto255_random());
assert.deepEqual(readable([...forwarded, ...noise], bobKey), ['small', 'message']);
leak('Bob', 'the query among random points', 'the same: random points are in no dictionary, words are');

// Two of them together have everything.
const stolenBobKey = sodium.crypto_core_ristretto255_scalar_mul(tedRatio, aliceKey);
assert.ok(same(stolenBobKey, bobKey));
leak('Alice and Ted', "ratio times Alice's key", "Bob's key: any word can be tested on a stolen index");
const stolenAliceKey = ratio(tedRatio, bobKey);
assert.ok(same(stolenAliceKey, aliceKey));
assert.deepEqual(readable(query, stolenAliceKey), ['small', 'message']);
leak('Bob and Ted', "Bob's key by the ratio", "Alice's key: all her queries, the earlier ones too");

if (process.argv.includes('--table')) console.log(rows.join('\n'));
assert.equal(rows.length, 8);
