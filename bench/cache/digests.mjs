/**
 * The cost of comparing bodies with their digest: CPU time per miss with and without, SHA-256 and
 * SHA-512 alone, the scan of npm's metadata, and the memory of learnt digests.
 *
 *     npm run build && node bench/cache/digests.mjs > bench/results/digests.md
 *
 * Origin, proxy and client are one process, so the CPU time is that of all three, and the
 * difference of two rows is the cost of the comparison. Rounds alternate; medians are printed.
 */

import { createHash, randomBytes } from 'node:crypto';
import { Agent, createServer, get } from 'node:http';
import { DEFAULT_POLICY } from '../../packages/cache/dist/policy/policy-options.js';
import { createProxy } from '../../packages/cache/dist/proxy/cache-proxy.js';
import { DigestBook } from '../../packages/cache/dist/proxy/digests/digest-book.js';
import { LearntDigests } from '../../packages/cache/dist/proxy/digests/learnt-digests.js';
import { PackumentScanner } from '../../packages/cache/dist/proxy/digests/packument-scanner.js';
import { AddressGuard } from '../../packages/cache/dist/safety/address-guard.js';
import { ClientGuard } from '../../packages/cache/dist/safety/client-guard.js';
import { checkLimits } from '../../packages/cache/dist/safety/limits.js';
import { MemoryStore } from '../../packages/cache/dist/store/memory/memory-store.js';

const ROUNDS = 7;

/** @param {number[]} numbers */
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** @param {() => unknown} work */
async function cpuMs(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** @param {import('node:http').Server} server @returns {Promise<number>} */
const listen = (server) =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    }),
  );

const book = new DigestBook();

/** @param {boolean} verifies */
async function startProxy(verifies) {
  const proxy = createProxy({
    policy: DEFAULT_POLICY,
    clock: Date.now,
    store: new MemoryStore({ capacityBytes: 1e8 }),
    upstreams: [],
    forward: true,
    connectPorts: [],
    limits: checkLimits(),
    addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
    clients: new ClientGuard({ allow: ['127.0.0.1/32'] }),
    observer: { answered() {}, event() {} },
    digests: verifies ? book : null,
  });
  const server = createServer((request, response) => proxy.handle(request, response));
  return { proxy, server, port: await listen(server) };
}

/** @type {Map<string, Buffer>} */
const bodies = new Map();
const origin = createServer((request, response) => {
  const body = bodies.get(request.url ?? '') ?? Buffer.alloc(0);
  response.writeHead(200, { 'Content-Length': body.length, 'Cache-Control': 'max-age=60' }).end(body);
});
const originPort = await listen(origin);
const agent = new Agent({ keepAlive: true });

/** @param {number} port @param {string} path @returns {Promise<number>} */
const ask = (port, path) =>
  new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', agent, path: `http://127.0.0.1:${originPort}${path}` }, (response) => {
      let bytes = 0;
      response.on('data', (/** @type {Buffer} */ chunk) => {
        bytes += chunk.length;
      });
      response.on('end', () => resolve(bytes));
      response.on('error', reject);
    }).on('error', reject);
  });

console.log(
  '# Comparing bodies with their digest\n\nWritten by `bench/cache/digests.mjs`. On a busy machine, rows of short bodies differ by 15 % from run to run.\n',
);
console.log('| body | misses | CPU per miss, no comparison | with comparison | difference |');
console.log('|---|---|---|---|---|');
const proxies = { plain: await startProxy(false), checked: await startProxy(true) };
for (const [length, count] of [
  [1000, 400],
  [100_000, 200],
  [5_000_000, 5],
]) {
  bodies.clear();
  for (let at = 0; at < count; at++) {
    const body = randomBytes(length);
    bodies.set(`/v2/a/blobs/sha256:${createHash('sha256').update(body).digest('hex')}`, body);
  }
  /** @type {{ plain: number[], checked: number[] }} */
  const times = { plain: [], checked: [] };
  for (let round = 0; round < ROUNDS; round++)
    for (const kind of /** @type {const} */ (['plain', 'checked'])) {
      const { proxy, port } = proxies[kind];
      for (const path of bodies.keys()) await proxy.forget(`http://127.0.0.1:${originPort}${path}`);
      times[kind].push(
        (await cpuMs(async () => {
          for (const path of bodies.keys())
            if ((await ask(port, path)) !== length)
              throw new Error(`Cannot measure: expected ${length} bytes, got others`);
        })) / count,
      );
    }
  const [plain, checked] = [median(times.plain), median(times.checked)];
  console.log(
    `| ${length} bytes | ${count} | ${plain.toFixed(3)} ms | ${checked.toFixed(3)} ms | ${(checked - plain).toFixed(3)} ms (${((100 * (checked - plain)) / plain).toFixed(0)} %) |`,
  );
}

const { rightFromOrigins, wrongFromOrigins } = book.counts;
console.log(`\n${rightFromOrigins} bodies were compared and right, ${wrongFromOrigins} were wrong.`);

const block = randomBytes(1e6);
/** @param {string} algorithm */
async function hashMs(algorithm) {
  const times = [];
  for (let round = 0; round < ROUNDS; round++)
    times.push(
      (await cpuMs(() => Array.from({ length: 10 }, () => createHash(algorithm).update(block).digest()))) /
        10,
    );
  return median(times);
}
const versions = Object.fromEntries(
  Array.from({ length: 2000 }, (_, at) => [
    `1.0.${at}`,
    {
      name: 'a',
      scripts: { test: 'x'.repeat(300) },
      dist: {
        tarball: `https://r.example/a/-/a-1.0.${at}.tgz`,
        integrity: `sha512-${randomBytes(64).toString('base64')}`,
      },
    },
  ]),
);
const document = Buffer.from(JSON.stringify({ name: 'a', versions }));
const scans = [];
for (let round = 0; round < ROUNDS; round++) {
  let found = 0;
  const scanner = new PackumentScanner(() => found++);
  scans.push(
    await cpuMs(() => {
      for (let at = 0; at < document.length; at += 65_536) scanner.add(document.subarray(at, at + 65_536));
    }),
  );
  if (found !== 2000) throw new Error(`Cannot measure: expected 2000 digests, got ${found}`);
}
globalThis.gc?.();
const before = process.memoryUsage();
const learnt = new LearntDigests(randomBytes(16));
const hex = createHash('sha256').digest('hex');
const adding = await cpuMs(() => {
  for (let at = 0; at < 1 << 18; at++)
    learnt.add(`https://r.example/a/-/a-${at}.tgz`, { algorithm: 'sha256', hex });
});
globalThis.gc?.();
const after = process.memoryUsage();
const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
console.log('\n| | |\n|---|---|');
console.log(`| SHA-256 of 1 MB | ${(await hashMs('sha256')).toFixed(2)} ms |`);
console.log(`| SHA-512 of 1 MB | ${(await hashMs('sha512')).toFixed(2)} ms |`);
console.log(`| scan of a packument, per MB | ${((1e6 * median(scans)) / document.length).toFixed(1)} ms |`);
console.log(`| ${1 << 18} learnt digests | ${(bytes / 1e6).toFixed(0)} MB |`);
console.log(`| entering 2,048 of them | ${((adding * 2048) / 2 ** 18).toFixed(1)} ms |`);
console.log(`| kept at the end | ${learnt.size} |`);

agent.destroy();
for (const { proxy, server } of Object.values(proxies)) {
  server.closeAllConnections();
  server.close();
  await proxy.close();
}
origin.closeAllConnections();
origin.close();
