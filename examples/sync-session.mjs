// A cache and three neighbours that hold its summary, over a network that loses a fifth of all
// messages. The cache publishes the changes, followed by a heartbeat, in each round. A neighbour
// that missed a message notices it and sends a request. The neighbours never believe a "no" from a
// summary that they know to be out of date.

import assert from 'node:assert/strict';
import { CountingBloomFilter } from 'bloomery';
import { Publisher, Subscriber } from 'bloomery/wire';

const url = (i) => `https://cdn.example/asset/${i}.js`;
const urls = (from, count) => Array.from({ length: count }, (_, i) => url(from + i));
const filter = CountingBloomFilter.forCapacity({
  capacity: 10_000,
  falsePositiveRate: 0.01,
  trackChanges: true,
});
filter.addMany(urls(0, 10_000));
const cache = new Publisher({ filter, incarnation: 1 }); // the first start of this cache
const neighbours = [new Subscriber(), new Subscriber(), new Subscriber()];

let sent = 0;
let lost = 0;
let bytes = 0;
let dice = 1;
const arrives = (message) => {
  sent++;
  bytes += message.length;
  dice = (dice * 48_271) % 2_147_483_647; // the same losses in every run
  if (dice % 5 !== 0) return true;
  lost++;
  return false;
};

/** Delivers a message to a neighbour, and then the request and the answer that it may cause. */
function tell(neighbour, message) {
  if (message === null || !arrives(message)) return;
  const { reply } = neighbour.receive(message);
  if (reply !== undefined && arrives(reply)) tell(neighbour, cache.answer(reply));
}

for (let hour = 1; hour <= 24; hour++) {
  cache.deleteMany(urls(100 * (hour - 1), 100)); // evicted
  cache.addMany(urls(9_900 + 100 * hour, 100)); // stored
  const changes = cache.publish();
  for (const neighbour of neighbours) tell(neighbour, changes);
  for (const neighbour of neighbours) tell(neighbour, cache.heartbeat());
  for (const neighbour of neighbours) {
    // Whether current or not, a neighbour never answers "no" for a key that is in the generation
    // that it holds.
    if (neighbour.status === 'current') {
      const { sequence } = neighbour.generation;
      assert.ok(neighbour.hasMany(urls(100 * sequence, 10_000)).every((answer) => answer === 1));
    } else {
      assert.ok(neighbour.has('https://cdn.example/never-stored'));
    }
  }
}

// The network recovers: one heartbeat makes every neighbour current.
for (const neighbour of neighbours) {
  const { reply } = neighbour.receive(cache.heartbeat());
  if (reply !== undefined) neighbour.receive(cache.answer(reply));
  assert.equal(neighbour.status, 'current');
  assert.equal(neighbour.generation.sum, cache.generation.sum);
  assert.ok(neighbour.summary.equals(filter.snapshot()));
}
const whole = 3 * 24 * cache.full().length;
assert.ok(lost > 20 && bytes < whole / 4);
console.log(
  `24 hours, 3 neighbours, ${sent} messages, ${lost} lost: ${Math.round(bytes / 1024)} KiB sent; whole summaries would have been ${Math.round(whole / 1024)} KiB`,
);
