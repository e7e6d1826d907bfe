/**
 * `npm run bench:search`: searches of many simulated peers in the four classic collections, beside
 * one index over everything. Bytes, peers and ranks do not depend on the machine, and are the same
 * for the same seed; only the processor time does. It needs the collections in BLOOMERY_DATA.
 *
 *     npm run bench:search -- --peers 100,400 --markdown results/search.md
 *
 * Ten real processes follow, which need nats-server.
 */

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import {
  answerQuestion,
  compareResults,
  FolderIndex,
  parseQuery,
  scoreOf,
  termWeight,
} from '../../packages/overlay/dist/search/index.js';
import { SearchWorld } from '../../packages/overlay/dist/simulation/index.js';
import {
  COLLECTIONS,
  collectionsFolder,
  readCollection,
  type TextCollection,
} from '../../packages/testkit/src/collections/text-collections.ts';
import { savedFileTimes } from './saved-file.ts';

const { values: options } = parseArgs({
  options: { markdown: { type: 'string' }, peers: { type: 'string', default: '100,400' } },
});
const SIZES = options.peers.split(',').map(Number);
const MOST = 10;
const SEED = 5;

const folder = collectionsFolder();
if (folder === null) throw new Error('Cannot measure: expected BLOOMERY_DATA with a folder collections');

const lines: string[] = ['# Searches without a server', '', '`npm run bench:search` wrote this file.', ''];
const cells = (...row: (string | number)[]) => lines.push(`| ${row.join(' | ')} |`);
const head = (...row: string[]) => {
  cells(...row);
  cells(...row.map(() => '---'));
};
const save = () => options.markdown && writeFileSync(options.markdown, `${lines.join('\n')}\n`);
const whole = (value: number) => Math.round(value).toLocaleString('en');
const mean = (all: readonly number[]) => all.reduce((sum, each) => sum + each, 0) / all.length;
const most = (all: readonly number[]) => all.reduce((max, each) => Math.max(max, each), 0);
const plain = (text: string) => text.replace(/["+:]/g, ' ');

/** One index over all documents, asked with its own exact weights. */
function central(collection: TextCollection, ownerOf: ReadonlyMap<string, string>) {
  const index = new FolderIndex();
  for (const { id, text } of collection.documents)
    index.put({ path: `${collection.name}/${id}.txt`, type: 'txt', text });
  return (text: string) => {
    const query = parseQuery(text);
    const keys = query.keys.map((key) => ({ key, having: index.postings(key).size, isRequired: false }));
    const question = { keys, phrases: [], types: [], documents: index.size, floor: 0, most: index.size };
    const weights = keys.map(({ having }) => termWeight(index.size, having));
    return answerQuestion(index, question)
      .hits.map(({ handle, counts, length }) => {
        const { path } = index.document(handle)!;
        return { score: scoreOf(counts, weights, length), peer: ownerOf.get(path)!, path };
      })
      .sort(compareResults)
      .slice(0, MOST);
  };
}

interface Row {
  readonly collection: string;
  readonly equal: string;
  readonly scored: readonly number[];
  readonly twice: readonly number[];
  readonly fetched: readonly number[];
  readonly scoreBytes: readonly number[];
  readonly documentBytes: readonly number[];
  readonly virtualMs: readonly number[];
  readonly recall: number;
  readonly cpuMs: number;
}

async function measure(collection: TextCollection, peers: number): Promise<Row> {
  const documents = collection.documents.map(({ id, text }) => ({
    path: `${collection.name}/${id}.txt`,
    type: 'txt',
    text,
    bytes: text.length,
    changed: 0,
    digest: createHash('sha256').update(text).digest('hex'),
  }));
  const world = new SearchWorld({ seed: SEED, peers, documents });
  await world.settle();
  const owners = new Map<string, string>();
  for (const { id, folder } of world.peers)
    for (const { path } of folder.index.documents()) owners.set(path, id);
  const reference = central(collection, owners);
  const list = (): number[] => [];
  const [scored, twice, fetched, scoreBytes] = [list(), list(), list(), list()];
  const [documentBytes, virtualMs, recalls] = [list(), list(), list()];
  let equal = 0;
  let cpuMs = 0;
  for (const [i, { text, relevant }] of collection.queries.entries()) {
    const before = process.cpuUsage();
    const { results, cost, elapsedMs } = await world.search(i % peers, plain(text), { most: MOST });
    const { user, system } = process.cpuUsage(before);
    cpuMs += (user + system) / 1000;
    const got = results.map(({ score, peer, path }) => ({ score, peer, path }));
    if (JSON.stringify(got) === JSON.stringify(reference(plain(text)))) equal++;
    scored.push(cost.scored);
    twice.push(cost.askedTwice);
    fetched.push(cost.fetched);
    scoreBytes.push(cost.scoreBytes);
    documentBytes.push(cost.documentBytes);
    virtualMs.push(elapsedMs);
    const found = got.filter(({ path }) => relevant.has(Number(/(\d+)\.txt$/.exec(path)![1]))).length;
    recalls.push(found / relevant.size);
  }
  const queries = collection.queries.length;
  if (collection.name === 'cacm') await gossip(world, peers);
  return {
    collection: collection.name.toUpperCase(),
    equal: `${equal} of ${queries}`,
    scored,
    twice,
    fetched,
    scoreBytes,
    documentBytes,
    virtualMs,
    recall: mean(recalls),
    cpuMs: cpuMs / queries,
  };
}

const gossipLines: string[] = [];

/** The directory: its size, and the price of one saved file. */
async function gossip(world: SearchWorld, peers: number): Promise<void> {
  const [first] = world.peers;
  const known = first.directory.peers();
  const before = world.peers.map(({ folder }) => folder.summary.publishedBytes);
  const text = 'A file about one thing that no other file has: quetzalcoatlus.';
  world.put(1, { path: 'new.txt', type: 'txt', text, bytes: 62, changed: 0, digest: 'ab'.repeat(32) });
  const settled = await world.settle();
  const bytes = world.peers[1].folder.summary.publishedBytes - before[1];
  const positions = known.reduce((sum, peer) => sum + peer.positions, 0);
  const memory = known.reduce((sum, peer) => sum + peer.memoryBytes, 0);
  gossipLines.push(
    `| ${peers} | ${whole(positions)} | ${whole(memory)} B | ${bytes} B | at most ${whole(settled)} ms |`,
  );
}

lines.push(
  `The queries of the collections that have judgements, each asked by another peer. Documents are spread over the peers by a Weibull distribution (shape 0.7), a message takes 5 ms, the first ${MOST} results are compared: documents, scores and order. "Asked for scores" are peers whose summary passes for a word. Bytes are those of questions and answers, both ways, without the heads of a transport. Load while it ran: ${loadavg()[0].toFixed(1)}.`,
  '',
);
for (const peers of SIZES) {
  lines.push(`## ${peers} peers`, '');
  head(
    'collection',
    `first ${MOST} equal to the central index`,
    'asked for scores',
    'asked twice',
    'documents fetched from, mean / most',
    'bytes of scores',
    'bytes of documents',
    'bytes per query, mean / most',
    'round trips, mean',
    'recall at 10',
    'CPU of all peers per query',
  );
  for (const name of COLLECTIONS) {
    const row = await measure(readCollection(folder, name), peers);
    const total = row.scoreBytes.map((bytes, i) => bytes + row.documentBytes[i]);
    cells(
      row.collection,
      row.equal,
      mean(row.scored).toFixed(1),
      mean(row.twice).toFixed(1),
      `${mean(row.fetched).toFixed(1)} / ${most(row.fetched)}`,
      whole(mean(row.scoreBytes)),
      whole(mean(row.documentBytes)),
      `${whole(mean(total))} / ${whole(most(total))}`,
      (mean(row.virtualMs) / 10).toFixed(2),
      row.recall.toFixed(3),
      `${row.cpuMs.toFixed(0)} ms`,
    );
    save();
    console.error(`${peers} peers: ${row.collection}`);
  }
  lines.push('');
}
lines.push('## The directory (CACM)', '');
lines.push(
  'What a peer holds about all others, and one saved file with six new words: the message that is published, and the virtual time until all peers have it (looked at once a second).',
  '',
);
head('peers', 'positions', 'memory', 'one saved file', 'known to all after');
lines.push(...gossipLines, '');
lines.push('## Ten real processes', '');
lines.push(
  'From saving a file to its being found by all ten processes, 20 times, and a search for two words among 320 files. All processes share this machine, on loopback.',
  '',
);
head('over', 'saved file found everywhere: median / most', 'search: median / most', 'load');
for (const over of ['nats', 'http'] as const) {
  const { foundMs, searchMs, load } = await savedFileTimes(over);
  const both = (all: readonly number[]) => `${whole(all[all.length >> 1])} / ${whole(most(all))} ms`;
  cells(over === 'nats' ? 'NATS' : 'HTTP', both(foundMs), both(searchMs), load.toFixed(1));
}
save();
if (!options.markdown) console.log(lines.join('\n'));
