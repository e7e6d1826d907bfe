// Two nodes on one machine. The first holds 200,000 objects and publishes a summary of their URLs:
// one Bloom filter, sent over HTTP. The second fetches the summary once. From then on it knows,
// without a request, which objects the first certainly does not have.
//
// All printed figures are measured in this run, and the required properties are asserted.

import assert from 'node:assert/strict';
import { createServer, get } from 'node:http';
import { BlockedBloomFilter, BloomFilter, kernelInUse } from 'bloomery';

const OBJECTS = 200_000;
const RATE = 0.01;
/**
 * Opens a connection for each request. Node would keep one open and reuse it, but a server closes
 * an idle connection after 5 s. On a machine that needs longer than that between two requests, a
 * request can arrive at the moment of closing.
 */
const ONE_CONNECTION = { agent: false };
const urlOf = (i) => `https://registry.example/packages/${(i * 7919) % 104729}/archive-${i}.tgz`;

// The holder builds the summary and serves it along with its objects.
const held = Array.from({ length: OBJECTS }, (_, i) => urlOf(i));
const objects = new Set(held);
const building = clock();
const summary = BloomFilter.forCapacity({ capacity: OBJECTS, falsePositiveRate: RATE });
summary.addMany(held);
const buildMs = building();
const server = createServer((request, response) => {
  if (request.url === '/summary') {
    response.setHeader('content-type', 'application/vnd.bloomery');
    response.end(summary.encode());
    return;
  }
  const { searchParams } = new URL(request.url, 'http://localhost');
  response.statusCode = objects.has(searchParams.get('url')) ? 200 : 404;
  response.end();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

// The other node fetches the summary once …
const fetching = clock();
const frame = await fetchBytes(`${origin}/summary`);
const peer = BloomFilter.decode(frame);
const fetchMs = fetching();

// … and uses it to decide where to ask. Half of the objects that it looks for are there.
const wanted = Array.from({ length: 2 * OBJECTS }, (_, i) => urlOf(i));
const asking = clock();
const answers = peer.hasMany(wanted);
const askMs = asking();
const maybe = answers.reduce((sum, answer) => sum + answer, 0);
const missed = answers.subarray(0, OBJECTS).filter((answer) => answer === 0).length;
const falsePositives = maybe - (OBJECTS - missed);
assert.equal(missed, 0, 'a filter never says no to what it holds');
const rate = falsePositives / OBJECTS;
const sigma = Math.sqrt((RATE * (1 - RATE)) / OBJECTS);
assert.ok(Math.abs(rate - RATE) < 5 * sigma, `measured ${rate}, asked for ${RATE}`);

// A sample of the "maybe" answers, checked with the holder over HTTP. Only here does a false
// positive cost a request.
const sample = wanted.filter((_, i) => answers[i] === 1).filter((_, i) => i % 1009 === 0);
let found = 0;
for (const url of sample) {
  if ((await status(`${origin}/?url=${encodeURIComponent(url)}`)) === 200) found++;
}
server.close();

const listBytes = held.reduce((sum, url) => sum + url.length + 1, 0);
const blocked = BlockedBloomFilter.forCapacity({ capacity: OBJECTS, falsePositiveRate: RATE });
blocked.addMany(held);
const blockedAsking = clock();
blocked.hasMany(wanted);
const blockedMs = blockedAsking();

print('kernel', kernelInUse());
print('objects held', OBJECTS.toLocaleString('en'));
print('their URLs as a list', `${mega(listBytes)} MB`);
print(
  'their summary, as sent',
  `${mega(frame.length)} MB, ${((8 * frame.length) / OBJECTS).toFixed(2)} bits per key`,
);
print('building it', `${buildMs.toFixed(0)} ms, ${perKey(buildMs, OBJECTS)} ns a key`);
print('fetching and decoding it', `${fetchMs.toFixed(0)} ms`);
print('asking it 400,000 times', `${askMs.toFixed(0)} ms, ${perKey(askMs, 2 * OBJECTS)} ns a key`);
print('the same, blocked filter', `${blockedMs.toFixed(0)} ms, ${perKey(blockedMs, 2 * OBJECTS)} ns a key`);
print('objects missed', `${missed} (a "no" is certain)`);
print(
  'requests saved',
  `${(2 * OBJECTS - maybe).toLocaleString('en')} of ${OBJECTS.toLocaleString('en')} that would have found nothing`,
);
print('false positive rate', `${(100 * rate).toFixed(3)} % measured, ${100 * RATE} % asked for`);
print('maybes checked over HTTP', `${found} of ${sample.length} were there`);

function clock() {
  const start = performance.now();
  return () => performance.now() - start;
}

function perKey(ms, keys) {
  return ((ms * 1e6) / keys).toFixed(0);
}

function mega(bytes) {
  return (bytes / 1e6).toFixed(2);
}

function print(name, value) {
  console.log(`  ${`${name} `.padEnd(28, '.')} ${value}`);
}

function fetchBytes(url) {
  return new Promise((resolve, reject) => {
    get(url, ONE_CONNECTION, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve(new Uint8Array(Buffer.concat(parts))));
    }).on('error', reject);
  });
}

function status(url) {
  return new Promise((resolve, reject) => {
    get(url, ONE_CONNECTION, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}
