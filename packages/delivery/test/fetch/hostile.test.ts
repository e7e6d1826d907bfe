/**
 * Peers that lie, stall and flood. Each fetch ends with the right file or a clear error, and the
 * liar is named.
 */

import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { BlockSet } from '../../src/decisions/block-set.ts';
import { shapeOf } from '../../src/decisions/file-shape.ts';
import { DeliveryError, type SharedFile } from '../../src/index.ts';
import { HASH_BYTES, HashList, sha256 } from '../../src/wire/hash-list.ts';
import { writeStateMessage } from '../../src/wire/state-message.ts';
import { addressOf, SwarmLab } from './swarm-lab.ts';

const SIZE = 2_000_000;

/** A peer that says it has a file of these bytes under the digest, however false. */
function pretended(digest: string, body: Buffer, changes: Partial<SharedFile> = {}): SharedFile {
  const shape = shapeOf(body.length);
  const hashes = Buffer.alloc(shape.blocks * HASH_BYTES);
  for (let block = 0; block < shape.blocks; block++)
    hashes.set(sha256(blockOf(body, block)), block * HASH_BYTES);
  return {
    digest,
    node: randomBytes(16).toString('hex'),
    shape,
    has: BlockSet.full(shape.blocks),
    isComplete: true,
    asksOrigin: false,
    list: HashList.of(body.length, hashes),
    fetching: [],
    others: [],
    hashOf: (block) => ({ hash: sha256(blockOf(body, block)), isFirstHand: true }),
    read: async (offset, length) => body.subarray(offset, offset + length),
    watch: () => () => {},
    ...changes,
  };
}

function blockOf(body: Buffer, block: number): Buffer {
  const { blockBytes } = shapeOf(body.length);
  return body.subarray(block * blockBytes, (block + 1) * blockBytes);
}

async function join(lab: SwarmLab, file: SharedFile): Promise<string> {
  const server = await lab.server();
  server.share(file);
  return addressOf(server);
}

/** The file with some blocks changed. */
function forged(lab: SwarmLab, blocks: readonly number[]): Buffer {
  const body = Buffer.from(lab.body);
  for (const block of blocks) body[block * shapeOf(body.length).blockBytes]! ^= 1;
  return body;
}

async function rawPeer(lab: SwarmLab, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  lab.onClose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const bannedOf = (report: { banned: readonly { peer: string }[] }) => report.banned.map(({ peer }) => peer);

test('a peer that sends garbage is found by one block and dropped', async () => {
  await using lab = new SwarmLab(SIZE);
  const liar = await join(
    lab,
    pretended(lab.digest, lab.body, { read: async (_, length) => randomBytes(length) }),
  );
  const { report } = await lab.fetch([liar, await lab.seed()]);
  expect(bannedOf(report)).toEqual([liar]);
  expect(report.refuted).toBe(0);
  expect(report.wastedBytes).toBeLessThanOrEqual(2 * 65_536);
});

test('a wrong list that most peers give is refuted, and the blocks on which the lists agree are kept', async () => {
  await using lab = new SwarmLab(SIZE);
  const wrong = forged(lab, [3, 20]);
  const liars = [
    await join(lab, pretended(lab.digest, wrong)),
    await join(lab, pretended(lab.digest, wrong)),
  ];
  const seed = await lab.seed();
  const { report } = await lab.fetch([...liars, seed]);
  expect(report.refuted).toBe(1);
  expect(bannedOf(report).sort()).toEqual(liars.sort());
  const kept = lab.events.filter(({ name }) => name === 'hypothesis').map(({ fields }) => fields.kept);
  expect(kept).toEqual([0, shapeOf(SIZE).blocks - 2]);
});

test('if all peers give wrong lists, the fetch ends with the error digest after bounded rounds', async () => {
  await using lab = new SwarmLab(SIZE);
  const liars = await Promise.all(
    Array.from({ length: 12 }, (_, i) => join(lab, pretended(lab.digest, forged(lab, [i])))),
  );
  const failed = lab.fetch(liars);
  await expect(failed).rejects.toMatchObject({ code: 'digest', name: 'DeliveryError' });
  expect(lab.events.filter(({ name }) => name === 'refuted')).toHaveLength(8);
});

test('a wrong list is set aside when the origin sends another block', async () => {
  await using lab = new SwarmLab(SIZE);
  const all = Array.from({ length: shapeOf(SIZE).blocks }, (_, i) => i);
  const few = new BlockSet(all.length);
  few.add(1);
  const liar = await join(lab, pretended(lab.digest, forged(lab, all), { has: few, isComplete: false }));
  const { report } = await lab.fetch([liar], { origin: await lab.startOrigin() });
  expect(lab.events.map(({ name }) => name)).toContain('list-contested');
  expect(report.originBytes).toBeGreaterThan(SIZE - 2 * 65_536);
});

test('an origin with another file loses against a list that leads to the digest', async () => {
  await using lab = new SwarmLab(SIZE);
  await using other = new SwarmLab(SIZE, 'other');
  const origin = await other.startOrigin();
  const part = BlockSet.full(shapeOf(SIZE).blocks);
  part.delete(4);
  const partial = await join(lab, pretended(lab.digest, lab.body, { has: part, isComplete: false }));
  const late = lab.fetch([partial, await lab.seed(lab.body, { bytesPerSecond: 1_000_000 })], { origin });
  await late;
});

test('an origin with another file and no peer ends with the error digest', async () => {
  await using lab = new SwarmLab(SIZE);
  await using other = new SwarmLab(SIZE, 'other');
  await expect(lab.fetch([], { origin: await other.startOrigin() })).rejects.toMatchObject({
    code: 'digest',
  });
});

test('without a list, a node that vouches for wrong blocks costs one of them, and the file is right', async () => {
  await using lab = new SwarmLab(SIZE);
  const origin = await lab.startOrigin(2_000_000);
  const { blocks } = shapeOf(SIZE);
  const wrong = forged(lab, [...Array(blocks).keys()]);
  const few = new BlockSet(blocks);
  for (let block = 0; block < blocks; block += 2) few.add(block);
  const liar = await join(
    lab,
    pretended(lab.digest, wrong, { has: few, isComplete: false, list: null, asksOrigin: true }),
  );
  const { report } = await lab.fetch([liar], { origin });
  expect(bannedOf(report)).toEqual([liar]);
  expect(lab.events.filter(({ name }) => name === 'audit')).toHaveLength(1);
  // All blocks of the liar come again, and none of the origin's own.
  expect(report.originBytes).toBeLessThanOrEqual(SIZE + 65_536);
});

test('a peer that has everything and sends nothing delays the fetch by one stall', async () => {
  await using lab = new SwarmLab(SIZE);
  const stalled = await join(lab, pretended(lab.digest, lab.body, { read: () => new Promise(() => {}) }));
  const { report } = await lab.fetch([stalled, await lab.seed()]);
  expect(report.peers.find(({ address }) => address === stalled)!.bytes).toBe(0);
});

test('a peer that says it fetches every block does not keep the origin away', async () => {
  await using lab = new SwarmLab(SIZE);
  const { blocks } = shapeOf(SIZE);
  const liar = await join(
    lab,
    pretended(lab.digest, lab.body, {
      has: new BlockSet(blocks),
      isComplete: false,
      list: null,
      asksOrigin: true,
      fetching: [...Array(blocks).keys()],
    }),
  );
  const limits = { fetchingMs: 300, takeOverMs: 100 };
  const { report } = await lab.fetch([liar], { origin: await lab.startOrigin(), limits });
  expect(report.originBytes).toBe(SIZE);
});

test.each([
  ['a message of 4 GiB', Uint8Array.of(255, 255, 255, 255, 2)],
  ['blocks before a head', writeStateMessage({ type: 'blocks', has: new BlockSet(0) })],
  ['random bytes', randomBytes(300)],
])('%s ends the use of a peer', async (_, bytes) => {
  await using lab = new SwarmLab(SIZE);
  const liar = await rawPeer(lab, (request, response) => {
    if (request.url!.endsWith('state')) response.write(bytes);
    else response.writeHead(404).end();
  });
  const { report } = await lab.fetch([liar, await lab.seed(lab.body, { bytesPerSecond: 4_000_000 })]);
  expect(bannedOf(report)).toEqual([liar]);
});

test('a flood of messages ends the use of a peer', async () => {
  await using lab = new SwarmLab(SIZE);
  const head = { type: 'head', size: SIZE, isComplete: false, asksOrigin: false } as const;
  const liar = await rawPeer(lab, (_, response) => {
    response.write(writeStateMessage({ ...head, node: 'ab'.repeat(16), list: null }));
    const flood = Buffer.concat(Array(100).fill(writeStateMessage({ type: 'fetching', blocks: [1] })));
    const more = () => {
      while (!response.destroyed && response.write(flood));
    };
    response.on('drain', more);
    more();
  });
  const { report } = await lab.fetch([liar, await lab.seed(lab.body, { bytesPerSecond: 2_000_000 })]);
  expect(bannedOf(report)).toEqual([liar]);
});

test('a list of a gigabyte is not read, and one with another name ends the use of its giver', async () => {
  await using lab = new SwarmLab(SIZE);
  const head = { type: 'head', size: SIZE, isComplete: true, asksOrigin: false } as const;
  const list = pretended(lab.digest, forged(lab, [1])).list!;
  let asked = 0;
  const stated = (node: string, send: RequestListener) =>
    rawPeer(lab, (request, response) => {
      if (request.url!.endsWith('list')) {
        asked++;
        send(request, response);
      } else response.write(writeStateMessage({ ...head, node: node.repeat(16), list: '11'.repeat(32) }));
    });
  const huge = await stated('aa', (_, response) => {
    response.writeHead(200, { 'Content-Length': 2 ** 30 }).write('BLML');
  });
  const other = await stated('bb', (_, response) => void response.end(list.bytes));
  const { report } = await lab.fetch([huge, other, await lab.seed()]);
  expect(asked).toBe(2);
  expect(bannedOf(report)).toEqual([other]);
});

test('a peer that sends more than the range is dropped', async () => {
  await using lab = new SwarmLab(SIZE);
  const seedFile = pretended(lab.digest, lab.body);
  const liar = await rawPeer(lab, (request, response) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
    if (request.url!.endsWith('file')) {
      response.writeHead(206, { 'Content-Range': `bytes ${from}-${to}/${SIZE}` });
      response.end(Buffer.alloc(Number(to) - Number(from) + 2));
    } else if (request.url!.endsWith('list')) response.end(seedFile.list!.bytes);
    else {
      const { shape, list, has } = seedFile;
      const head = { type: 'head', size: shape!.size, isComplete: true, asksOrigin: false } as const;
      response.write(writeStateMessage({ ...head, node: 'cc'.repeat(16), list: list!.name }));
      response.write(writeStateMessage({ type: 'blocks', has }));
    }
  });
  const { report } = await lab.fetch([liar, await lab.seed()]);
  expect(bannedOf(report)).toEqual([liar]);
});

test('an origin that sends no ranges, or has no such file, is named in the error', async () => {
  await using lab = new SwarmLab(SIZE);
  const plain = await rawPeer(lab, (_, response) => void response.end(lab.body));
  const none = await rawPeer(lab, (_, response) => void response.writeHead(404).end());
  for (const origin of [plain, none]) {
    const error = await lab.fetch([], { origin }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DeliveryError);
    expect(error).toMatchObject({ code: 'origin', message: expect.stringContaining(origin) });
  }
  const { report } = await lab.fetch([await lab.seed()], { origin: plain });
  expect(report.peerBytes).toBe(SIZE);
});

test('without a source that answers, the fetch ends with the error sources', async () => {
  await using lab = new SwarmLab(SIZE);
  const failed = lab.fetch(['http://127.0.0.1:1'], { limits: { patienceMs: 300 } });
  await expect(failed).rejects.toMatchObject({ code: 'sources' });
});

test('a peer that sends a byte at a time is not waited for forever', async () => {
  await using lab = new SwarmLab(SIZE);
  const hashes = [{ block: 0, hash: new Uint8Array(32), isFirstHand: true }];
  const head = { type: 'head', size: SIZE, isComplete: false, asksOrigin: false, list: null } as const;
  let state: ServerResponse | undefined;
  const dribbler = await rawPeer(lab, (request, response) => {
    if (request.url!.endsWith('state')) {
      response.write(writeStateMessage({ ...head, node: 'ab'.repeat(16) }));
      response.write(writeStateMessage({ type: 'hashes', hashes }));
      response.write(writeStateMessage({ type: 'more', blocks: [0] }));
      state = response;
      return;
    }
    // Without a sign of life its stream would be given up after 15 s.
    state?.write(writeStateMessage({ type: 'fetching', blocks: [] }));
    const [, first, last] = /(\d+)-(\d+)/.exec(request.headers.range!)!;
    response.writeHead(206, {
      'Content-Length': Number(last) - Number(first) + 1,
      'Content-Range': `bytes ${first}-${last}/${SIZE}`,
    });
    const dribble = () => {
      if (response.destroyed) return;
      response.write('x');
      setImmediate(dribble);
    };
    dribble();
  });
  const limits = { blockMs: 100, firstRestMs: 10, longestRestMs: 10, patienceMs: 300, settleMs: 100 };
  const signal = AbortSignal.timeout(20_000);
  const failed = lab.fetch([dribbler], { limits, signal });
  await expect(failed).rejects.toMatchObject({ code: 'sources' });
});
