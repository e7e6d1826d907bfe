/**
 * Peers that die, stay silent, lie, flood, and answer garbage or commands for a terminal. A search
 * among the others gives what a central index over the others gives.
 */

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { SUMMARY_TOPIC } from '../../src/directory/own-summary.ts';
import { parseQuery } from '../../src/search/index.ts';
import { FETCH_TOPIC, type FolderDocument, SCORE_TOPIC } from '../../src/search/shared-folder.ts';
import { writeDocuments } from '../../src/search/wire/document-message.ts';
import {
  readQuestion,
  type readScores,
  writeQuestion,
  writeScores,
} from '../../src/search/wire/score-message.ts';
import { type SearchPeer, SearchWorld } from '../../src/simulation/index.ts';
import { CentralIndex } from './central-index.ts';

const WORDS = 'apple birch cedar daisy elm fern grape hazel iris juniper'.split(' ');
const PEERS = 12;
const BAD = 3;

function documents(): FolderDocument[] {
  let state = 7;
  const draw = (below: number) => (state = (state * 16807) % 2147483647) % below;
  return Array.from({ length: 120 }, (_, i) => {
    const text = Array.from({ length: 3 + draw(20) }, () => WORDS[draw(WORDS.length)]).join(' ');
    const digest = createHash('sha256').update(`${i} ${text}`).digest('hex');
    return { path: `f${i}.txt`, type: 'txt', text, bytes: text.length, changed: 1000, digest };
  });
}

async function newWorld() {
  const world = new SearchWorld({ seed: 3, peers: PEERS, documents: documents() });
  await world.settle();
  return { world, bad: world.peers[BAD], central: centralOf(world.peers) };
}

function centralOf(peers: readonly SearchPeer[]): CentralIndex {
  return new CentralIndex(
    peers.flatMap(({ id, folder, texts }) =>
      [...folder.index.documents()].map(({ path, type }) => ({
        peer: id,
        path,
        type,
        text: texts.get(path)!,
      })),
    ),
  );
}

/** Searches, and compares the result with that of a central index without the bad peer. */
async function expectOthers(world: SearchWorld, central: CentralIndex, query = 'apple +fern') {
  const bad = world.peers[BAD].id;
  const result = await world.search(0, query);
  const found = result.results.map(({ score, peer, path }) => ({ score, peer, path }));
  expect(found).toEqual(central.search(parseQuery(query), 10, (peer) => peer !== bad));
  expect(found.length).toBeGreaterThan(3);
  return result;
}

/** Takes the answers of a peer out of its hands. Its summary stays with the others. */
function answerAs(
  peer: SearchPeer,
  answers: {
    score?: (body: Uint8Array) => Uint8Array | Promise<Uint8Array>;
    fetch?: (body: Uint8Array) => Uint8Array;
  },
) {
  const { folder, transport } = peer;
  folder.close();
  transport.serve(SCORE_TOPIC, answers.score ?? ((body) => writeScores(folder.answer(readQuestion(body)))));
  transport.serve(FETCH_TOPIC, answers.fetch ?? (() => new Uint8Array()));
}

test('a peer that dies costs its own results, and is named as offline later', async () => {
  const { world, central, bad } = await newWorld();
  world.network.crash(bad.transport.address);
  const during = await expectOthers(world, central);
  expect(during.failed.map(({ peer }) => peer)).toEqual([bad.id]);
  await world.simulation.run({ untilMs: world.simulation.elapsedMs + 60_000 });
  const later = await expectOthers(world, central);
  expect([later.failed, later.offline]).toEqual([
    [],
    [{ peer: bad.id, group: 'team', since: expect.any(Number), mayHave: true }],
  ]);
  // What it certainly did not have, it may not have now.
  const { offline } = await world.search(0, 'apple +unheard-of-word');
  expect(offline).toMatchObject([{ peer: bad.id, mayHave: false }]);
});

test('a peer that never answers costs its deadline', async () => {
  const { world, central, bad } = await newWorld();
  answerAs(bad, { score: () => new Promise(() => {}) });
  const { failed, elapsedMs } = await expectOthers(world, central);
  expect(failed).toHaveLength(1);
  expect(elapsedMs).toBeGreaterThan(2000);
  expect(elapsedMs).toBeLessThan(2200);
});

test('a peer that dies between scores and documents loses its place to the next ones', async () => {
  const { world, central, bad } = await newWorld();
  answerAs(bad, {
    fetch: () => {
      throw new Error('Cannot answer: expected a disk, got none');
    },
  });
  const { failed } = await expectOthers(world, central, 'apple fern cedar');
  expect(failed.map(({ peer }) => peer)).toEqual([bad.id]);
});

const lie =
  (change: (answer: ReturnType<typeof readScores>) => object) => (peer: SearchPeer) => (body: Uint8Array) => {
    const honest = peer.folder.answer(readQuestion(body));
    return writeScores({ ...honest, ...change(honest) });
  };

test.each<[string, (peer: SearchPeer) => (body: Uint8Array) => Uint8Array]>([
  ['garbage', () => () => Uint8Array.from({ length: 400 }, (_, i) => (i * 37) & 255)],
  ['nothing', () => () => new Uint8Array()],
  [
    'a million documents with every word',
    lie((honest) => ({ documents: 1e6, having: honest.having.map(() => 1e6) })),
  ],
  ['more matches than documents', lie(() => ({ matching: 1e9 }))],
  [
    'documents full of the words',
    lie(({ hits }) => ({
      hits: hits.map((hit) => ({ ...hit, length: 1, counts: hit.counts.map(() => 999) })),
    })),
  ],
  ['a document ten times', lie(({ hits }) => ({ hits: hits.map(() => hits[0]) }))],
])('a peer that answers %s costs its own results', async (_, answer) => {
  const { world, central, bad } = await newWorld();
  answerAs(bad, { score: answer(bad) });
  const { failed } = await expectOthers(world, central);
  expect(failed.map(({ peer }) => peer)).toEqual([bad.id]);
});

test('a peer that names documents which it does not give costs its own results', async () => {
  const { world, central, bad } = await newWorld();
  answerAs(bad, { fetch: () => writeDocuments([]) });
  const bare = await world.search(0, 'apple +fern');
  expect(bare.results.every(({ peer }) => peer !== bad.id)).toBe(true);
  // Its counts still weigh, as those of documents that were deleted meanwhile do.
  const withBad = central.search(parseQuery('apple +fern'), 200).filter(({ peer }) => peer !== bad.id);
  expect(bare.results.map(({ path }) => path)).toEqual(withBad.slice(0, 10).map(({ path }) => path));
});

test('commands for a terminal and script in names and snippets arrive as harmless text', async () => {
  const { world, bad } = await newWorld();
  const nasty = '\u001b]0;owned\u0007\u202e<script>alert(1)</script>';
  answerAs(bad, {
    fetch: () =>
      writeDocuments(
        [...bad.folder.index.documents()].map(({ handle }) => ({
          handle,
          path: nasty,
          bytes: 1,
          changed: 1,
          objectId: '00'.repeat(8),
          snippet: { text: nasty, marks: [] },
        })),
      ),
  });
  const { results } = await world.search(0, 'apple', { most: 100 });
  const its = results.filter(({ peer }) => peer === bad.id);
  expect(its.length).toBeGreaterThan(0);
  for (const { path, snippet } of its)
    expect([path, snippet.text]).toEqual(
      Array(2).fill('\ufffd]0;owned\ufffd\ufffd<script>alert(1)</script>'),
    );
});

test('a peer that floods with garbage and questions is refused, and the others find everything', async () => {
  const { world, central, bad } = await newWorld();
  const question = writeQuestion({
    keys: [{ key: 'appl', having: 1, isRequired: false }],
    phrases: [],
    types: [],
    documents: 1,
    floor: 0,
    most: 10,
  });
  const [{ transport: victim, folder }] = world.peers;
  const served = { ...folder.served };
  const outcomes = { answered: 0, refused: 0 };
  for (let i = 0; i < 2000; i++) {
    bad.transport.publish(
      SUMMARY_TOPIC,
      Uint8Array.from({ length: 50 }, (_, at) => (i * 31 + at * 7) & 255),
    );
    bad.transport.request(victim.address, SCORE_TOPIC, question, { timeoutMs: 60_000 }).then(
      () => outcomes.answered++,
      () => outcomes.refused++,
    );
    if (i % 16 === 15) await world.simulation.run({ untilMs: world.simulation.elapsedMs + 11 });
  }
  await world.simulation.run({ untilMs: world.simulation.elapsedMs + 1000 });
  expect(outcomes.answered + outcomes.refused).toBe(2000);
  // 200 at once, and 50 in each of the 1.4 seconds.
  expect(folder.served.scores - served.scores).toBeLessThan(300);
  expect(outcomes.refused).toBeGreaterThan(1700);
  const query = 'apple +fern';
  const { results, failed } = await world.search(0, query);
  expect(failed).toEqual([]);
  expect(results.map(({ score, peer, path }) => ({ score, peer, path }))).toEqual(
    central.search(parseQuery(query), 10),
  );
});
