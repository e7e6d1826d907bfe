// `npm run bench:annotations`: bytes of the published lists of annotations, at a million annotated
// URLs and 5,000 new ones a day, and what a question tells the server. Sizes are exact and do not
// depend on the machine; CPU times are user and system time of this process.

import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import {
  buildList,
  capacityFor,
  FilterFollower,
  fullFile,
  HEAD_FILE,
  prefixBits,
  prefixOf,
  publishList,
  updateFile,
} from '@bloomery/stores/annotations';
import { BloomFilter, HashList } from 'bloomery';
import { applyListUpdate, compressFrame, listChanges, makeDelta, makeListUpdate } from 'bloomery/wire';

const { values: options } = parseArgs({
  options: { pages: { type: 'string', default: '1000000' }, markdown: { type: 'string' } },
});
const PAGES = Number(options.pages);
const PER_DAY = PAGES / 200;
const HOUR = 3600;
const START = 500_000 * 168 * HOUR;

/** @param {number} i */
const urlOf = (i) => `https://site-${i % 9973}.example/articles/${i}`;
const urls = Array.from({ length: PAGES + 8 * PER_DAY }, (_, i) => urlOf(i));
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const key = Uint8Array.from(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
/** @param {Uint8Array} message */
const signer = (message) => new Uint8Array(sign(null, message, privateKey));

/** @param {() => unknown} work */
function cpuMs(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** @param {number} value */
const count = (value) => Math.round(value).toLocaleString('en');
/** @param {string[]} head @param {string[][]} rows */
const table = (head, rows) =>
  [head, head.map((_, i) => (i === 0 ? '---' : '---:')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

/** A day of hourly publications, read by a client. @param {number} deletedPerDay */
async function day(deletedPerDay) {
  let last = /** @type {import('@bloomery/stores/annotations').PublishedList | null} */ (null);
  /** @type {readonly import('@bloomery/stores/annotations').ListStep[]} */
  let steps = [];
  const follower = new FilterFollower({ group: 'public', keys: [key], random: () => 0 });
  let [downloaded, heads, updates, cpu] = [0, 0, 0, 0];
  /** @type {Record<string, number>} */
  const sizes = {};
  for (let hour = 0; hour <= 24; hour++) {
    const nowS = START + hour * HOUR;
    const annotated = urls.slice(
      Math.round((deletedPerDay * hour) / 24),
      PAGES + Math.round((PER_DAY * hour) / 24),
    );
    const frame = buildList(annotated, { last: last?.frame }).encode();
    const before = process.cpuUsage();
    const made = await publishList({ group: 'public', nowS, frame, last, steps, sign: signer });
    const used = process.cpuUsage(before);
    cpu = (used.user + used.system) / 1000;
    last = { epoch: made.epoch, frame };
    steps = made.steps;
    for (const [name, bytes] of made.files) sizes[name.split('-')[0]] = bytes.length;
    for (let step = follower.next(nowS + 700); step.kind === 'fetch'; step = follower.next(nowS + 700)) {
      const bytes = step.file === HEAD_FILE ? made.head : made.files.get(step.file);
      if (bytes === undefined)
        throw new Error(`Cannot find ${step.file}: expected a published file, got none`);
      if (hour > 0) downloaded += bytes.length;
      if (hour > 0 && step.file === HEAD_FILE) heads += bytes.length;
      if (hour > 0 && step.file === updateFile(1, made.epoch)) updates += bytes.length;
      if (step.file === fullFile(made.epoch)) sizes.first = bytes.length;
      const outcome = await follower.receive(step.file, bytes, nowS + 700);
      if (outcome.status === 'refused') throw outcome.error;
    }
  }
  return {
    downloaded,
    heads,
    updates,
    sizes,
    publishMs: cpu,
    last: /** @type {NonNullable<typeof last>} */ (last),
  };
}

const capacity = capacityFor(PAGES);
const plain = await day(0);
const withDeletions = await day(PER_DAY / 10);

/** Other structures at the same capacity and hour, without signatures. */
function others() {
  /** @type {string[][]} */
  const rows = [];
  const hourly = Math.round(PER_DAY / 24);
  for (const [name, hashes, rate] of /** @type {[string, number | undefined, number][]} */ ([
    ['BloomFilter, as few bits as possible', undefined, 0.01],
    ['BloomFilter', 2, 0.01],
    ['BloomFilter', 2, 0.001],
  ])) {
    const filter = BloomFilter.forCapacity({ capacity, falsePositiveRate: rate, ...(hashes && { hashes }) });
    filter.addMany(urls.slice(0, PAGES));
    const from = filter.encode();
    filter.addMany(urls.slice(PAGES, PAGES + hourly));
    const to = filter.encode();
    const delta = makeDelta(from, to).length;
    rows.push([
      `${name}, k = ${filter.hashes}, ${100 * rate} %`,
      count(from.length),
      count(compressFrame(from).length),
      count(delta),
      count(24 * delta),
    ]);
  }
  for (const [hashes, rate] of /** @type {[number, number][]} */ ([
    [2, 0.01],
    [1, 0.01],
    [1, 0.001],
  ])) {
    const make = (/** @type {number} */ size) => {
      const list = HashList.forCapacity({ capacity, falsePositiveRate: rate, hashes });
      list.addMany(urls.slice(0, size));
      return list.encode();
    };
    const [from, to] = [make(PAGES), make(PAGES + hourly)];
    const update = makeListUpdate(to, listChanges(from, to)).length;
    rows.push([
      `HashList, k = ${hashes}, ${100 * rate} %`,
      count(from.length),
      count(compressFrame(from).length),
      count(update),
      count(24 * update),
    ]);
  }
  return rows;
}

/** The pages that share a prefix, and what an answer weighs. */
function learned() {
  const bits = prefixBits(capacity);
  /** @type {Map<string, number>} */
  const shared = new Map();
  for (let i = 0; i < PAGES; i++) {
    const id = createHash('sha256').update(`bloomery annotations 1\n${urls[i]}`).digest();
    const prefix = prefixOf(id, bits);
    shared.set(prefix, (shared.get(prefix) ?? 0) + 1);
  }
  const sizes = [...shared.values()].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => sizes[Math.floor(share * (sizes.length - 1))];
  // Entropy of the page, for an observer who knows the prefix of a random annotated page.
  const entropy = sizes.reduce((sum, n) => sum + (n / PAGES) * Math.log2(n), 0);
  return { bits, prefixes: 2 ** bits, least: sizes[0], low: at(0.05), median: at(0.5), entropy };
}

const list = HashList.decode(plain.last.frame);
const hourAgo = buildList(urls.slice(0, PAGES + PER_DAY - Math.round(PER_DAY / 24)), {
  last: plain.last.frame,
}).encode();
const update = makeListUpdate(plain.last.frame, listChanges(hourAgo, plain.last.frame));
const applyMs = cpuMs(() => applyListUpdate(hourAgo, update));
const decodeMs = cpuMs(() => HashList.decode(plain.last.frame));
const weekFrom = buildList(urls.slice(0, PAGES), { last: plain.last.frame }).encode();
const weekTo = buildList(urls.slice(0, PAGES + 7 * PER_DAY), { last: plain.last.frame }).encode();
const week = makeListUpdate(weekTo, listChanges(weekFrom, weekTo)).length;
const known = learned();
const rate = list.estimatedFalsePositiveRate();
const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]?.toFixed(1)}.`;
const text = `# Lists of annotated pages

${machine} ${count(PAGES)} annotated URLs, ${count(PER_DAY)} new ones a day, a capacity of ${count(capacity)}. Bytes are those of the files, without HTTP.

## A day of a client that is never more than an hour late

${table(
  ['', 'bytes a day'],
  [
    ['24 heads (signatures)', count(plain.heads)],
    ['24 updates of an hour', count(plain.updates)],
    ['**together**', `**${count(plain.downloaded)}**`],
    [`with ${count(PER_DAY / 10)} deletions a day as well`, count(withDeletions.downloaded)],
  ],
)}

## Files

${table(
  ['file', 'bytes'],
  [
    ['head', count(plain.heads / 24)],
    ['full', count(plain.sizes.full)],
    ['u1 (an hour)', count(plain.sizes.u1)],
    ['u6 (six hours)', count(plain.sizes.u6)],
    ['u24 (a day)', count(plain.sizes.u24)],
    ['u168 (a week)', count(week)],
    ['the list in memory and in IndexedDB', count(plain.last.frame.length)],
  ],
)}

CPU: a publication ${count(plain.publishMs)} ms; a client applies an update in ${count(applyMs)} ms, and opens the list in ${count(decodeMs)} ms.

## Other structures

One hour, without signatures. BloomFilters by deltas of two states, lists by updates that fit all states of the hour.

${table(['structure', 'in memory', 'first download', 'one hour', '24 hours'], others())}

## What a question tells

${table(
  ['', ''],
  [
    ['visits to pages without notes that send something', `${(100 * rate).toFixed(2)} %`],
    ['bits of a question', String(known.bits)],
    ['annotated pages that share a prefix: least', String(known.least)],
    ['… 5th percentile', String(known.low)],
    ['… median', String(known.median)],
    [
      'entropy of the page, if it is a random annotated one',
      `${known.entropy.toFixed(2)} of ${Math.log2(PAGES).toFixed(2)} bits`,
    ],
    ['questions of a day with 300 pages without notes', (300 * rate).toFixed(1)],
  ],
)}
`;
if (options.markdown === undefined) console.log(text);
else writeFileSync(options.markdown, text);
