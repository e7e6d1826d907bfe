// Takes each webhook once, although its sender delivers some twice. The store is asked only where
// the filter says maybe, so a false positive never drops a new event.

import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { dedupe } from '@bloomery/stores/guard';
import { RotatingBloomFilter } from 'bloomery';

// The exact memory: in practice a table with a unique key, or keys in Redis with a time to live.
const table = new Set();
let reads = 0;
const store = {
  async has(id) {
    reads++;
    return table.has(id);
  },
  async add(ids) {
    for (const id of ids) table.add(id);
  },
};

// Senders repeat for three days at most, so the filter remembers at least as long.
const day = 86_400_000;
const filter = new RotatingBloomFilter({
  capacity: 100_000,
  falsePositiveRate: 0.001,
  generations: 4,
  ttlMs: 3 * day,
  nowMs: Date.now(),
});
const isNew = dedupe(store, { filter });

const handled = [];
const server = createServer(async (request, response) => {
  const id = request.headers['x-event-id'];
  if (await isNew(id)) handled.push(id);
  response.setHeader('Connection', 'close'); // a request on a kept connection can meet its closing
  response.end('ok');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const url = `http://127.0.0.1:${server.address().port}/hook`;
const deliver = (id) => fetch(url, { method: 'POST', headers: { 'x-event-id': id } });
for (let at = 0; at < 200; at++) await deliver(`event-${at}`);
for (let at = 0; at < 50; at++) await deliver(`event-${at}`); // delivered again
await Promise.all([deliver('twice'), deliver('twice')]); // and at the same time

assert.deepEqual(
  handled.slice(0, 200),
  Array.from({ length: 200 }, (_, at) => `event-${at}`),
);
assert.deepEqual(handled.slice(200), ['twice']);
const { asked, certainlyNew, repeated } = isNew.stats();
assert.equal(asked, 252);
assert.equal(repeated, 51);
assert.ok(reads < 60);
console.log(
  `${asked} deliveries, ${handled.length} handled; ${certainlyNew} of them without a read of the store`,
);
server.close();
