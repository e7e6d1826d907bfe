// Asks 100 shards of a store about one key. Each shard has a Bloom filter of its keys; side by side
// in a table they answer in one look, so a read goes to the shard that has the key and to hardly
// any other.

import assert from 'node:assert/strict';
import { FilterTable, hashKey } from 'bloomery';

const SHARDS = 100;
const KEYS = 500;
const keyOf = (shard, i) => `user ${shard * KEYS + i}`;

// One false candidate in 50 reads of an absent key, over all shards together.
const table = FilterTable.forCapacity({ columns: SHARDS, capacity: KEYS, falseCandidates: 0.02 });
for (let shard = 0; shard < SHARDS; shard++) {
  table.addMany(
    shard,
    Array.from({ length: KEYS }, (_, i) => keyOf(shard, i)),
  );
}

// Every key is found in its shard.
let asked = 0;
for (let shard = 0; shard < SHARDS; shard++) {
  for (let i = 0; i < KEYS; i += 50) {
    const shards = table.columnsFor(keyOf(shard, i));
    assert.ok(shards.includes(shard), 'a shard that has the key is always among the candidates');
    asked += shards.length;
  }
}
const reads = (SHARDS * KEYS) / 50;
assert.ok(asked / reads < 1.05);

// Absent keys hardly cost anything.
const out = new Uint32Array(table.candidateWords);
let wasted = 0;
for (let i = 0; i < 20_000; i++) wasted += table.candidates(hashKey(`absent ${i}`), out);
assert.ok(wasted / 20_000 < 0.03);

// A shard that is down is not asked; one that has been emptied is rebuilt without its old keys.
table.mask(7);
assert.ok(!table.columnsFor(keyOf(7, 0)).includes(7));
table.unmask(7);
const rebuild = table.rebuild(8);
rebuild.addMany(['user of the new shard 8']);
while (rebuild.step());
assert.deepEqual(table.columnsFor('user of the new shard 8'), [8]);
assert.ok(!table.columnsFor(keyOf(8, 0)).includes(8));

console.log(
  `${SHARDS} shards: ${(asked / reads).toFixed(3)} asked per read, ${(wasted / 20_000).toFixed(3)} per absent key, ${table.byteLength} bytes`,
);
