// Finds the clients that make up more than 1 % of the requests. The tracker sees every request
// once, keeps a few kilobytes, and misses none of these clients, even during a flood of addresses
// that occur only once.

import assert from 'node:assert/strict';
import { HeavyHitters } from 'bloomery';

const requests = [];
for (let i = 0; i < 300_000; i++) {
  if (i % 20 === 0)
    requests.push('crawler.example'); // 5 %
  else if (i % 33 === 0)
    requests.push('monitor.example'); // about 3 %
  else if (i % 7 === 0)
    requests.push(`client-${i % 70}.example`); // some regular clients
  else requests.push(`203.0.${(i >> 8) & 255}.${i & 255}:${i}`); // a flood of new addresses
}

// Two front ends, each with its own tracker. The frames of both are sent to a third machine and
// merged there.
const [east, west] = [requests.slice(0, 120_000), requests.slice(120_000)].map((part) => {
  const tracker = HeavyHitters.forThreshold({ threshold: 0.01 });
  tracker.addMany(part);
  return tracker.encode();
});
const tracker = HeavyHitters.decode(east).merge(HeavyHitters.decode(west));

const truth = new Map();
for (const client of requests) truth.set(client, (truth.get(client) ?? 0) + 1);
const heavy = [...truth].filter(([, count]) => count >= 0.01 * requests.length);

const list = tracker.list();
for (const [client, count] of heavy) {
  const entry = list.find(({ key }) => key === client);
  assert.ok(entry, `${client} is heavy and must be listed`);
  assert.ok(entry.atLeast <= count && count <= entry.count);
}
assert.equal(tracker.total, requests.length);
assert.ok(tracker.candidateCount() < 300, 'the flood is not remembered');

console.log(
  `${truth.size} clients, ${heavy.length} of them heavy; remembered: ${tracker.candidateCount()} keys and ${tracker.byteLength} bytes`,
);
for (const { key, count, atLeast } of list.slice(0, 3)) {
  console.log(`${key}: ${atLeast} to ${count} requests (in truth ${truth.get(key)})`);
}
