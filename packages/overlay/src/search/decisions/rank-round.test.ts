import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { CentralIndex, type PeerDocument } from '../../../test/search/central-index.ts';
import { FolderIndex } from '../terms/folder-index.ts';
import { parseQuery } from '../terms/query.ts';
import { answerQuestion } from './answer-question.ts';
import { RankRound, type RankSource } from './rank-round.ts';
import { compareResults } from './score.ts';

/** A generator of whole numbers, the same for the same seed. */
function drawer(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return Math.floor((((state ^ (state >>> 13)) >>> 0) / 2 ** 32) * below);
  };
}

const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa'.split(' ');

/** Documents of few words, so that scores tie and phrases occur. */
function randomDocuments(draw: (below: number) => number, peers: number): PeerDocument[] {
  return Array.from({ length: peers }, (_, peer) =>
    Array.from({ length: draw(9) }, (_, file) => {
      // Squared, so that some words are rare and guessed weights are wrong.
      const word = () => WORDS[Math.floor(draw(100) ** 2 / 1000)];
      const type = ['txt', 'md', ''][draw(3)];
      const name = `${draw(3) === 0 ? `${word()}-` : ''}f${file}`;
      const text = Array.from({ length: 1 + draw(12) }, word).join(draw(4) === 0 ? ' the ' : ' ');
      return { peer: `p${peer}`, path: type === '' ? name : `${name}.${type}`, type, text };
    }),
  ).flat();
}

function randomQuery(draw: (below: number) => number): string {
  const word = () => WORDS[draw(WORDS.length)];
  const parts = [
    () => word(),
    () => word(),
    () => `+${word()}`,
    () => `"${word()} ${word()}"`,
    () => `"${word()} the ${word()}"`,
    () => `name:${word()}`,
    () => 'type:md',
    () => 'type:txt',
  ];
  return Array.from({ length: 1 + draw(4) }, () => parts[draw(parts.length)]()).join(' ');
}

interface Run {
  readonly seed: number;
  /** Whether a source fails, at any point. */
  readonly fails: boolean;
}

function runRound({ seed, fails }: Run) {
  const draw = drawer(seed);
  const peers = 1 + draw(12);
  const documents = randomDocuments(draw, peers);
  const query = parseQuery(randomQuery(draw));
  const most = 1 + draw(6);
  const names = Array.from({ length: peers }, (_, peer) => `p${peer}`);
  const indexes = names.map((name) => {
    const index = new FolderIndex();
    for (const document of documents) if (document.peer === name) index.put(document);
    return index;
  });
  // Filters answer "maybe" to a tenth of the keys that a folder lacks.
  const maybe = (index: FolderIndex, key: string) => index.postings(key).size > 0 || draw(10) === 0;
  const sources: RankSource[] = indexes.map((index, i) => ({
    peer: names[i],
    documents: index.size,
    mostDocuments: index.size,
    maybe: query.keys.map((key) => maybe(index, key)),
    mayHaveType: query.types.some((type) => maybe(index, `type:${type}`)),
  }));
  const round = new RankRound(query, sources, most);
  const failed = new Set<string>();
  const fails1in = fails ? 5 : Number.POSITIVE_INFINITY;
  const isDown = (source: number) => {
    if (failed.has(names[source]) || draw(1000) < 1000 / fails1in) failed.add(names[source]);
    return failed.has(names[source]);
  };
  const asked: number[] = [];
  const fetched: number[] = [];
  let steps = 0;
  for (let step = round.next(); step.kind !== 'done'; step = round.next()) {
    expect(++steps).toBeLessThan(100);
    if (step.kind === 'ask')
      for (const [source, question] of step.questions) {
        asked.push(source);
        if (isDown(source)) round.failed(source);
        else expect(round.answered(source, answerQuestion(indexes[source], question))).toBeNull();
      }
    else
      for (const [source, handles] of step.wanted) {
        fetched.push(source);
        if (isDown(source)) round.failed(source);
        else round.fetched(source, handles, handles);
      }
  }
  const results = round
    .ranked()
    .map(({ source, handle, score }) => ({
      score,
      peer: names[source],
      path: indexes[source].document(handle)!.path,
    }))
    .sort(compareResults)
    .slice(0, most);
  const central = new CentralIndex(documents).search(query, most, (peer) => !failed.has(peer));
  return { results, central, query, sources, asked, fetched, failed };
}

test('RankRound gives the ranking of a central index, to the last bit and in its order', () => {
  let found = 0;
  for (let seed = 0; seed < withEffort(400, 100); seed++) {
    const { results, central } = runRound({ seed, fails: false });
    expect(results, `seed ${seed}`).toEqual(central);
    found += results.length;
  }
  expect(found).toBeGreaterThan(500);
});

test('RankRound gives the ranking of the sources that answered when others fail', () => {
  for (let seed = 0; seed < withEffort(400, 100); seed++) {
    const { results, central } = runRound({ seed, fails: true });
    expect(results, `seed ${seed}`).toEqual(central);
  }
});

test('RankRound asks no source for words that none has, and none without any word', () => {
  for (let seed = 0; seed < withEffort(200, 60); seed++) {
    const { asked, fetched, sources, query, results } = runRound({ seed, fails: false });
    for (const source of asked) expect(sources[source].maybe.some(Boolean)).toBe(true);
    const isPossible = sources.some(
      ({ maybe, mayHaveType }) =>
        maybe.some(Boolean) &&
        query.required.every((key) => maybe[key]) &&
        (query.types.length === 0 || mayHaveType),
    );
    if (!isPossible) expect(asked).toEqual([]);
    // Documents are fetched once, and from as many sources as the results need.
    expect(new Set(fetched).size).toBe(fetched.length);
    expect(fetched.length).toBeLessThanOrEqual(results.length);
  }
});

const SOURCE: RankSource = {
  peer: 'a',
  documents: 5,
  mostDocuments: 5,
  maybe: [true],
  mayHaveType: false,
};
const HIT = { handle: 1, length: 10, counts: [2] };

test.each([
  ['more documents than its summary has room for', { documents: 6, having: [1], matching: 1, hits: [HIT] }],
  ['more documents with a word than documents', { documents: 5, having: [6], matching: 1, hits: [HIT] }],
  ['more matching documents than documents', { documents: 5, having: [1], matching: 6, hits: [] }],
  ['too few hits', { documents: 5, having: [2], matching: 2, hits: [HIT] }],
  ['a document twice', { documents: 5, having: [2], matching: 2, hits: [HIT, HIT] }],
  ['counts for other keys', { documents: 5, having: [1, 1], matching: 1, hits: [HIT] }],
  [
    'more words than the document has',
    { documents: 5, having: [1], matching: 1, hits: [{ ...HIT, counts: [11] }] },
  ],
  ['a word that no document has', { documents: 5, having: [0], matching: 1, hits: [HIT] }],
  [
    'a document without the words',
    { documents: 5, having: [1], matching: 1, hits: [{ ...HIT, counts: [0] }] },
  ],
])('RankRound takes a source out whose answer tells %s', (_, answer) => {
  const round = new RankRound(parseQuery('word'), [SOURCE], 10);
  expect(round.next().kind).toBe('ask');
  expect(round.answered(0, answer)).toBeTypeOf('string');
  expect(round.next().kind).toBe('done');
  expect(round.ranked()).toEqual([]);
  expect(round.documents).toBe(0);
});

test('RankRound ranks the next document when one is gone at its owner', () => {
  const round = new RankRound(parseQuery('word'), [SOURCE], 1);
  round.next();
  round.answered(0, { documents: 5, having: [1], matching: 1, hits: [HIT] });
  expect(round.next()).toEqual({ kind: 'fetch', wanted: new Map([[0, [1]]]) });
  round.fetched(0, [1], []);
  expect(round.next().kind).toBe('done');
  expect(round.ranked()).toEqual([]);
});
