/**
 * `npm run bench:catch-up`: the bytes by which a node that was away brings the summary of a
 * neighbour up to date: a delta, the full state, or a session of reconciliation over the positions.
 * Then the bytes of the comparison before a warm-up, and its longest step, for which clients may
 * have to wait.
 */

import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Reconciler } from '@bloomery/reconcile';
import { hashKey, type KeyHash, SecretKey } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import { compareObjects } from '../../packages/cache/src/peers/warming/compare-objects.ts';
import {
  decodeWarmRequest,
  type WarmObject,
} from '../../packages/cache/src/peers/warming/decisions/warm-message.ts';
import { bucketCount, intoBuckets } from '../../packages/cache/src/peers/warming/object-buckets.ts';
import { WarmOffer } from '../../packages/cache/src/peers/warming/warm-offer.ts';

const HELP = `npm run bench:catch-up -- [options]

  --quick            sets of up to 100,000
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const SIZES = options.quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000];
const SHARES = [0.0001, 0.001, 0.01, 0.1, 0.5];
/** The rate of a summary in a fleet of four. */
const RATE = 0.005;

function* hashes(from: number, to: number): Generator<KeyHash, void> {
  for (let key = from; key < to; key++) yield hashKey(key);
}

interface CatchUp {
  readonly size: number;
  readonly differences: number;
  readonly delta: number;
  readonly full: number;
  readonly reconciled: number;
}

function catchUp(size: number, share: number): CatchUp {
  const universe = 2 ** Math.ceil(Math.log2(size / RATE));
  const replaced = Math.max(1, Math.round((size * share) / 2));
  const publisher = new SetPublisher({ incarnation: 1, universe });
  publisher.resize(universe, hashes(0, size));
  const subscriber = new SetSubscriber({ maxPositions: 2 * size });
  subscriber.receive(publisher.full());
  const before = positionsOf(0, size, universe);
  for (const hash of hashes(0, replaced)) publisher.deleteHash(hash);
  for (const hash of hashes(size, size + replaced)) publisher.addHash(hash);
  publisher.publish();
  const request = subscriber.request();
  const delta = request.length + publisher.answer(request)!.length;
  const full = request.length + publisher.full().length;
  const after = positionsOf(replaced, size + replaced, universe);
  return { size, differences: 2 * replaced, delta, full, reconciled: sessionBytes(before, after) };
}

function positionsOf(from: number, to: number, universe: number): number[] {
  const positions = new Set<number>();
  for (const { high, low } of hashes(from, to))
    positions.add(Math.floor((((high >>> 0) * 2 ** 32 + (low >>> 0)) / 2 ** 64) * universe));
  return [...positions];
}

/** Bytes of a session in which the initiator gets the positions that it lacks. */
function sessionBytes(here: readonly number[], there: readonly number[]): number {
  const random = () => crypto.getRandomValues(new Uint8Array(8));
  const a = new Reconciler(here, { role: 'initiator', random: random(), exchange: true });
  const b = new Reconciler(there, { role: 'responder', random: random(), exchange: true });
  while (!(a.done && b.done)) {
    for (let bytes = a.pull(); bytes !== null; bytes = a.pull()) b.receive(bytes);
    const answer = b.pull();
    if (answer !== null) a.receive(answer);
  }
  return a.progress.bytesSent + a.progress.bytesReceived;
}

interface Warming {
  readonly size: number;
  readonly missing: number;
  readonly bytes: number;
  readonly requests: number;
  readonly longestMs: number;
}

async function warming(size: number, missing: number): Promise<Warming> {
  const key = new SecretKey(new Uint8Array(16).fill(7));
  const objects: WarmObject[] = Array.from({ length: size }, (_, i) => ({
    key: `http://example.org/objects/${i}/page.html`,
    varied: [],
    bytes: 1000,
    freshMs: 1e6,
  }));
  const random = () => crypto.getRandomValues(new Uint8Array(8));
  // Each pause ends a step, as in a node.
  let longestMs = 0;
  let began = cpuMs();
  const pause = async () => {
    longestMs = Math.max(longestMs, cpuMs() - began);
    await new Promise<void>((resolve) => setImmediate(resolve));
    began = cpuMs();
  };
  const split = await intoBuckets(objects, bucketCount(size), key, pause);
  const offer = new WarmOffer({ ...split, session: '0011223344556677', random, pause });
  const ask = async (body: Uint8Array) => {
    const request = decodeWarmRequest(body)!;
    if (request.kind === 'open') return offer.opening();
    if (request.kind === 'list') return offer.list(request.from);
    return (await offer.compare(request.turn, request.buckets))!;
  };
  const { signal } = new AbortController();
  began = cpuMs();
  const own = objects.slice(missing);
  const { bytesSent, bytesReceived, requests } = await compareObjects({
    own,
    keyId: 1,
    key,
    ask,
    random,
    pause,
    signal,
  });
  return { size, missing, bytes: bytesSent + bytesReceived, requests, longestMs };
}

/** CPU time of this process: the machine may have other work. It includes the garbage collector. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const count = (value: number) => value.toLocaleString('en-US');

async function main(): Promise<void> {
  if (options.help) {
    console.log(HELP);
    return;
  }
  const rows = SIZES.flatMap((size) => SHARES.map((share) => catchUp(size, share)));
  const warm: Warming[] = [];
  for (const size of SIZES)
    for (const missing of [0, 100, size / 10, size]) warm.push(await warming(size, missing));
  const text = [
    '# Catching up',
    '',
    `Made by \`npm run bench:catch-up${options.quick ? ' -- --quick' : ''}\`. ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}.`,
    '',
    '## A summary after a partition',
    '',
    'Bytes of all messages. A difference is a position that was added or removed, half of each.',
    '',
    '| positions | differences | delta | full state | reconciliation | least |',
    '|---:|---:|---:|---:|---:|---|',
    ...rows.map(({ size, differences, delta, full, reconciled }) => {
      const least = Math.min(delta, full, reconciled);
      const name = least === delta ? 'delta' : least === full ? 'full state' : 'reconciliation';
      const second = reconciled < full ? ', then reconciliation' : ', then the full state';
      return `| ${[size, differences, delta, full, reconciled].map(count).join(' | ')} | ${name}${name === 'delta' ? second : ''} |`;
    }),
    '',
    '## The comparison before a warm-up',
    '',
    'Bytes with the URLs of the missing objects (some 40 characters each), and the most CPU time between two turns of the event loop, with that of the garbage collector.',
    '',
    '| objects | missing | bytes | bytes per missing object | requests | longest step (CPU) |',
    '|---:|---:|---:|---:|---:|---:|',
    ...warm.map(
      ({ size, missing, bytes, requests, longestMs }) =>
        `| ${count(size)} | ${count(missing)} | ${count(bytes)} | ${missing === 0 ? '–' : (bytes / missing).toFixed(1)} | ${count(requests)} | ${longestMs.toFixed(1)} ms |`,
    ),
  ].join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}

await main();
