// Counts how many bytes each address sent: 200,000 packets from some 17,000 addresses, in 54 KB.
// The Count-Min sketch is sized for an error of at most a thousandth of the traffic.
//
// Plain and conservative update see the same packets. The printed figures are measured in this run.

import assert from 'node:assert/strict';
import { CountMinSketch, countEstimate } from 'bloomery';

const packets = traffic(200_000);
const sketches = ['plain', 'conservative'].map((update) => {
  const sketch = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01, update });
  const addresses = packets.map(({ address }) => address);
  const bytes = packets.map((packet) => packet.bytes);
  sketch.addMany(addresses, bytes); // one amount per key
  return sketch;
});

// The true counts, which the sketches do not store.
const truth = new Map();
for (const { address, bytes } of packets) truth.set(address, (truth.get(address) ?? 0) + bytes);
const total = packets.reduce((sum, { bytes }) => sum + bytes, 0);

for (const sketch of sketches) {
  assert.equal(sketch.total, total);
  let error = 0;
  let misses = 0;
  for (const [address, bytes] of truth) {
    const count = sketch.count(address);
    assert.ok(count >= bytes, 'never below the truth');
    error += count - bytes;
    if (count > bytes + 0.001 * total) misses++;
  }
  assert.ok(misses <= 0.01 * truth.size, `${misses} beyond the bound`);
  const mean = Math.round(error / truth.size);
  console.log(
    `${sketch.update}: ${sketch.byteLength} bytes for ${truth.size} addresses, ${mean} bytes too many on average`,
  );
}

const [plain, conservative] = sketches;
for (const address of truth.keys()) assert.ok(conservative.count(address) <= plain.count(address));

// One answer, with its interval at 99 % confidence.
const { value, low } = countEstimate(conservative, '10.0.0.0', { confidence: 0.99 });
assert.ok(low <= truth.get('10.0.0.0') && truth.get('10.0.0.0') <= value);
console.log(`10.0.0.0 sent ${low} to ${value} bytes (in truth ${truth.get('10.0.0.0')})`);

// Two routers, two sketches: the sum is the sketch of all packets.
const half = (part) => {
  const sketch = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01 });
  for (const { address, bytes } of part) sketch.add(address, bytes);
  return sketch;
};
assert.ok(
  half(packets.slice(0, 80_000))
    .union(half(packets.slice(80_000)))
    .equals(plain),
);

/** Packets whose senders follow a heavy-tailed law; the same in every run. */
function traffic(count) {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: count }, () => {
    const rank = Math.floor(20_000 ** random()) - 1; // rank r with a probability of about 1/r
    return { address: `10.0.${rank >> 8}.${rank & 255}`, bytes: 40 + Math.floor(1460 * random()) };
  });
}
