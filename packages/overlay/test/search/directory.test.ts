/** The directory over lossy links, restarts and changes of size. */

import { createHash } from 'node:crypto';
import { hashKey, hashScheme, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { SearchWorld } from '../../src/simulation/index.ts';

const scheme = hashScheme({ key: new SecretKey(new Uint8Array(16).fill(7)) });

function file(name: string, text: string) {
  const digest = createHash('sha256').update(text).digest('hex');
  return { path: name, type: 'txt', text, bytes: text.length, changed: 1000, digest };
}

const filesOf = (count: number) =>
  Array.from({ length: count }, (_, i) => file(`f${i}.txt`, `text${i} common`));

test('every peer knows the keys and the objects of all others, over links that lose and damage', async () => {
  const world = new SearchWorld({ seed: 1, peers: 6, documents: filesOf(60) });
  world.network.setConditions({ delayMs: 5, jitterMs: 5, loss: 0.2, damage: 0.1, duplication: 0.1 });
  await world.settle(60 * 60_000);
  world.put(2, file('later.txt', 'something laterword'));
  await world.settle(60 * 60_000);
  world.network.setConditions({ delayMs: 5 });
  const { results } = await world.search(5, 'laterword');
  expect(results.map(({ peer, path }) => [peer, path])).toEqual([[world.peers[2].id, 'later.txt']]);
  for (const { transport, directory } of world.peers)
    for (const peer of directory.peers()) {
      const { folder } = world.peers.find(({ id }) => id === peer.id)!;
      for (const key of folder.index.keys()) expect(peer.mayHaveKey(hashKey(key, scheme))).toBe(true);
      expect(peer.mostDocuments).toBeGreaterThanOrEqual(folder.index.size);
      expect(transport.address).not.toBe(peer.address);
    }
});

test('locate asks peers that may hold an object, and finds all its copies', async () => {
  const world = new SearchWorld({ seed: 2, peers: 8, documents: filesOf(40) });
  const copy = file('copy-a.txt', 'the very same content');
  for (const owner of [1, 4]) world.put(owner, copy);
  world.put(4, { ...copy, path: 'copy-b.txt' });
  await world.settle();
  const locate = async (digest: string) => {
    let found: Awaited<ReturnType<(typeof world.peers)[0]['searcher']['locate']>> | undefined;
    void world.peers[1].searcher.locate(Buffer.from(digest, 'hex')).then((holders) => (found = holders));
    while (found === undefined) await world.simulation.run({ untilMs: world.simulation.elapsedMs + 100 });
    return found.map(({ peer, paths }) => [peer, ...paths]);
  };
  const [one, four] = [world.peers[1].id, world.peers[4].id];
  expect(await locate(copy.digest)).toEqual([
    [one, 'copy-a.txt'],
    [four, 'copy-a.txt', 'copy-b.txt'],
  ]);
  world.peers[4].folder.remove('copy-a.txt');
  await world.settle();
  expect(await locate(copy.digest)).toEqual([
    [one, 'copy-a.txt'],
    [four, 'copy-b.txt'],
  ]);
  // Of 1,000 digests that no peer holds, about one in 90 asks a peer: the 8 bits of an object.
  const asked = Array.from({ length: 1000 }, (_, i) =>
    world.peers[0].directory.peers().filter((peer) => peer.mayHaveObject(hashKey(`${i}`, scheme))),
  ).flat().length;
  // 7,000 questions at a rate of at most 1/90 are 78, with a standard deviation of 9.
  expect(asked).toBeLessThan(78 + 5 * 9);
});

test('a folder that grows a hundredfold and shrinks again is followed, with other universes', async () => {
  const world = new SearchWorld({ seed: 3, peers: 3, documents: [] });
  const [owner, , asker] = world.peers;
  await world.settle();
  for (let i = 0; i < 2500; i++) world.put(0, file(`g${i}.txt`, `grown${i}x`));
  await world.settle();
  const [seen] = asker.directory.peers().filter(({ id }) => id === owner.id);
  expect(seen.card).toMatchObject({ documents: 2500, keys: owner.folder.index.keyCount });
  const wrong = Array.from({ length: 5000 }, (_, i) => seen.mayHaveKey(hashKey(`no ${i}`, scheme)));
  // The rate is between 0.8 and 1.5 %; five standard deviations of 5,000 trials are 0.9 %.
  expect(wrong.filter(Boolean).length / 5000).toBeLessThan(0.015 + 0.009);
  for (let i = 10; i < 2500; i++) owner.folder.remove(`g${i}.txt`);
  await world.settle();
  expect(seen.card?.documents).toBe(10);
  expect((await world.search(2, '+grown7x')).results.map(({ path }) => path)).toEqual(['g7.txt']);
  expect((await world.search(2, '+grown700x')).results).toEqual([]);
});

test('nothing is sent for words that no peer has', async () => {
  const world = new SearchWorld({ seed: 4, peers: 20, documents: filesOf(100) });
  await world.settle();
  let asked = 0;
  for (let i = 0; i < 50; i++) {
    const { results, cost } = await world.search(i % 20, `+absent${i}one absent${i}two`);
    expect(results).toEqual([]);
    asked += cost.scored;
  }
  // 950 questions are possible. The words have parts that must all pass at once, at 1 % each.
  expect(asked).toBeLessThanOrEqual(5);
});
