/**
 * Searches among 100 simulated peers in the classic collections: the first ten results are
 * those of a central index. Bytes and peers are counted. The short form takes twelve queries of two
 * collections; the full form and bench/search ask every query, among 400 peers as well.
 */

import {
  COLLECTIONS,
  collectionsFolder,
  readCollection,
} from '@bloomery/testkit/collections/text-collections';
import { EFFORT } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { parseQuery } from '../../src/search/index.ts';
import { SearchWorld } from '../../src/simulation/index.ts';
import { CentralIndex } from './central-index.ts';
import { filesOf, plainQuery } from './collection-peers.ts';

const FOLDER = collectionsFolder();
const WHY = FOLDER === null ? ' (skipped: BLOOMERY_DATA names no folder with collections)' : '';
const PEERS = EFFORT > 1 ? 400 : 100;

/** The short form takes two of the four. */
const NAMES = EFFORT > 1 ? COLLECTIONS : COLLECTIONS.slice(0, 2);

test.skipIf(FOLDER === null).each(NAMES)(
  `a search among ${PEERS} peers gives the first ten of a central index in %s${WHY}`,
  async (name) => {
    const collection = readCollection(FOLDER!, name);
    const documents = filesOf(collection);
    const world = new SearchWorld({ seed: 5, peers: PEERS, documents });
    await world.settle();
    const central = new CentralIndex(
      world.peers.flatMap(({ id, folder, texts }) =>
        [...folder.index.documents()].map(({ path, type }) => ({
          peer: id,
          path,
          type,
          text: texts.get(path)!,
        })),
      ),
    );
    let [bytes, fetched] = [0, 0];
    const asked = someOf(collection.queries, EFFORT > 1 ? Number.POSITIVE_INFINITY : 12);
    for (const [i, query] of asked.entries()) {
      const text = plainQuery(query.text);
      const { results, cost, failed, offline } = await world.search(i % PEERS, text);
      expect([failed, offline]).toEqual([[], []]);
      expect(
        results.map(({ score, peer, path }) => ({ score, peer, path })),
        `query ${query.id}`,
      ).toEqual(central.search(parseQuery(text), 10));
      bytes += cost.scoreBytes + cost.documentBytes;
      fetched += cost.fetched;
    }
    const queries = asked.length;
    expect(fetched / queries).toBeLessThanOrEqual(22);
    if (PEERS === 100) expect(bytes / queries).toBeLessThanOrEqual(30_000);
  },
);

/** At most so many of a list, evenly spread over it. */
function someOf<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, all.length / most);
  return Array.from({ length: Math.min(all.length, most) }, (_, i) => all[Math.floor(i * step)]);
}
