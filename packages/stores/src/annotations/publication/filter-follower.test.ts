import type { webcrypto } from 'node:crypto';
import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { HashList } from 'bloomery';
import { applyListUpdate, listChanges, makeListUpdate } from 'bloomery/wire';
import { beforeAll, expect, test } from 'vitest';
import { listKey } from '../pages/page-id.ts';
import { FilterFollower, type HeldList } from './filter-follower.ts';
import { fileFrom, fullFile, HEAD_FILE, PERIOD_S, readFileName, updateFile } from './list-files.ts';
import { buildList, capacityFor, type ListStep, type PublishedList, publishList } from './publish-list.ts';

const GROUP = 'public';
const START = 1_000 * 168 * PERIOD_S;
const urlOf = (i: number) => `https://example.org/${i}`;
const urls = (count: number, from = 0) => Array.from({ length: count }, (_, i) => urlOf(from + i));

interface Signer {
  readonly publicKey: Uint8Array;
  readonly sign: (message: Uint8Array) => Promise<Uint8Array>;
}
let signer: Signer;
let forger: Signer;

beforeAll(async () => {
  [signer, forger] = await Promise.all([newSigner(), newSigner()]);
});

async function newSigner(): Promise<Signer> {
  const pair = (await crypto.subtle.generateKey({ name: 'Ed25519' }, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  return {
    publicKey: new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey)),
    sign: async (message) =>
      new Uint8Array(
        await crypto.subtle.sign({ name: 'Ed25519' }, pair.privateKey, Uint8Array.from(message)),
      ),
  };
}

/** A publisher and its static files, in memory. */
class Site {
  readonly files = new Map<string, Uint8Array>();
  readonly #signer: Signer;
  last: PublishedList | null = null;
  steps: readonly ListStep[] = [];

  constructor(by: Signer = signer) {
    this.#signer = by;
  }

  async publish(annotated: readonly string[], nowS: number): Promise<number> {
    const frame = buildList(annotated, { last: this.last?.frame }).encode();
    const { last, steps } = this;
    const made = await publishList({ group: GROUP, nowS, frame, last, steps, sign: this.#signer.sign });
    for (const [name, bytes] of made.files) this.files.set(name, bytes);
    this.files.set(HEAD_FILE, made.head);
    this.last = { epoch: made.epoch, frame };
    this.steps = made.steps;
    return made.epoch;
  }
}

function followerOf(random = 0, held?: HeldList): FilterFollower {
  return new FilterFollower({
    group: GROUP,
    keys: [signer.publicKey],
    random: () => random,
    ...(held && { held }),
  });
}

/** Fetches until the follower rests. Returns the names and the bytes of the files. */
async function sync(follower: FilterFollower, site: Pick<Site, 'files'>, nowS: number) {
  const fetched: string[] = [];
  let bytes = 0;
  const errors: Error[] = [];
  for (let step = follower.next(nowS); step.kind === 'fetch'; step = follower.next(nowS)) {
    fetched.push(step.file);
    if (fetched.length > 10) throw new Error(`no end: ${fetched.join(' ')}`);
    const file = site.files.get(step.file);
    bytes += file?.length ?? 0;
    if (file === undefined || file.length > step.maxBytes) follower.fail(step.file, nowS);
    else {
      const outcome = await follower.receive(step.file, file, nowS);
      if (outcome.status === 'refused') errors.push(outcome.error);
    }
  }
  return { fetched, bytes, errors };
}

const listOf = (follower: FilterFollower) => HashList.decode(follower.held!.frame);
const codesOf = (errors: readonly Error[]) => errors.map((error) => (error as { code?: string }).code);

test('a client of any age needs two files, and holds what was published', async () => {
  const site = new Site();
  const random = new Random(28);
  const clients: FilterFollower[] = [];
  const sizes = new Map<string, number>();
  let annotated = urls(700);
  for (let hour = 0; hour < withEffort(400, 200); hour++) {
    const nowS = START + hour * PERIOD_S + 1;
    annotated = [...annotated.filter(() => random.below(1500) !== 0), ...urls(1, 1000 * (hour + 1))];
    const epoch = await site.publish(annotated, nowS);
    if (hour % 12 === 0) clients.push(followerOf());
    for (const follower of clients) {
      if (random.below(1 + (hour % 30)) !== 0) continue;
      const before = follower.epoch;
      const { fetched, errors } = await sync(follower, site, nowS + 2 * PERIOD_S);
      expect(errors).toEqual([]);
      if (before === epoch) continue;
      expect(fetched).toEqual([HEAD_FILE, fileFrom(before, epoch, PERIOD_S)]);
      sizes.set(readFileName(fetched[1])!.kind, (sizes.get(readFileName(fetched[1])!.kind) ?? 0) + 1);
      const { frame } = follower.held!;
      expect(frame.every((byte, i) => byte === site.last!.frame[i])).toBe(true);
    }
    expect(HashList.decode(site.last!.frame).hasMany(annotated).every(Boolean)).toBe(true);
  }
  expect([...sizes.keys()].sort()).toEqual(['full', 'u1', 'u168', 'u24', 'u6']);
});

test('a deleted page leaves the list with the next publication', async () => {
  const site = new Site();
  await site.publish(urls(100), START);
  const follower = followerOf();
  await sync(follower, site, START + 1);
  expect(listOf(follower).has(urlOf(7))).toBe(true);
  await site.publish(
    urls(100).filter((url) => url !== urlOf(7)),
    START + PERIOD_S,
  );
  expect((await sync(follower, site, START + PERIOD_S + 700)).fetched[1]).toBe(
    updateFile(1, START + PERIOD_S),
  );
  expect(listOf(follower).has(urlOf(7))).toBe(false);
});

test('two publications in one period have two epochs, and the update fits both', async () => {
  const site = new Site();
  expect(await site.publish(urls(3), START + 5)).toBe(START);
  const [early, late] = [followerOf(), followerOf()];
  await sync(early, site, START + 6);
  expect(await site.publish(urls(4), START + 6)).toBe(START + 1);
  await sync(late, site, START + 7);
  expect(await site.publish(urls(5), START + PERIOD_S)).toBe(START + PERIOD_S);
  for (const follower of [early, late]) {
    const { fetched } = await sync(follower, site, START + 2 * PERIOD_S);
    expect(fetched).toEqual([HEAD_FILE, updateFile(1, START + PERIOD_S)]);
    expect(listOf(follower).has(urlOf(4))).toBe(true);
  }
});

test('a list that outgrows its capacity begins again, with a full file', async () => {
  const site = new Site();
  await site.publish(urls(1000), START);
  const follower = followerOf();
  await sync(follower, site, START + 1);
  await site.publish(urls(1400), START + PERIOD_S);
  const { fetched } = await sync(follower, site, START + PERIOD_S + 700);
  expect(fetched).toEqual([HEAD_FILE, updateFile(1, START + PERIOD_S), fullFile(START + PERIOD_S)]);
  expect(listOf(follower).has(urlOf(1399))).toBe(true);
});

test('capacityFor keeps a capacity that fits, grows by steps, and shrinks late', () => {
  expect(capacityFor(0)).toBe(1024);
  expect(capacityFor(0, 1024)).toBe(1024);
  expect(capacityFor(1025, 1024)).toBeGreaterThanOrEqual(1230);
  expect(capacityFor(1_000_000, 1_200_000)).toBe(1_200_000);
  expect(capacityFor(1_200_001, 1_200_000)).toBeGreaterThan(1_440_000);
  expect(capacityFor(100_000, 1_200_000)).toBeLessThan(150_000);
  for (let size = 1; size < 1e7; size = Math.ceil(size * 1.3)) {
    const capacity = capacityFor(size);
    expect(capacity).toBeGreaterThanOrEqual(1.2 * size);
    expect(capacity).toBeLessThanOrEqual(Math.max(1024, 1.36 * size + 2));
  }
});

test('forged, stale, conflicting, foreign and future heads are refused, and the list stays', async () => {
  const site = new Site();
  await site.publish(urls(10), START);
  const old = new Map(site.files);
  await site.publish(urls(12), START + PERIOD_S);
  const follower = followerOf();
  await sync(follower, site, START + PERIOD_S + 1);
  const held = follower.held;
  let nowS = START + 3 * PERIOD_S;
  const refusedBy = async (files: Map<string, Uint8Array>) => {
    nowS += 3 * PERIOD_S;
    const { fetched, errors } = await sync(follower, { files }, nowS);
    expect(follower.held).toBe(held);
    expect(fetched).toEqual([HEAD_FILE]);
    return codesOf(errors);
  };
  expect(await refusedBy(old)).toEqual(['stale']);
  const forged = new Site(forger);
  await forged.publish(urls(12), nowS);
  expect(await refusedBy(forged.files)).toEqual(['forged']);
  const conflicting = new Site();
  await conflicting.publish(urls(13), START + PERIOD_S);
  expect(await refusedBy(conflicting.files)).toEqual(['conflict']);
  const future = new Site();
  await future.publish(urls(13), nowS + 10 * 86_400);
  expect(await refusedBy(future.files)).toEqual(['stale']);
  const foreign = await publishList({
    group: 'other',
    nowS,
    frame: buildList(urls(3)).encode(),
    last: null,
    steps: [],
    sign: signer.sign,
  });
  expect(await refusedBy(new Map([[HEAD_FILE, foreign.head]]))).toEqual(['name']);
  const damaged = site.files.get(HEAD_FILE)!.slice();
  damaged[10] ^= 1;
  expect(await refusedBy(new Map([[HEAD_FILE, damaged]]))).toEqual(['forged']);
  expect(await refusedBy(new Map([[HEAD_FILE, new Uint8Array(7)]]))).toEqual(['not-a-frame']);
  expect(await refusedBy(new Map())).toEqual([]);
});

test('files that do not lead to the signed list are refused, whatever they hold', async () => {
  const site = new Site();
  await site.publish(urls(10), START);
  const first = new Map(site.files);
  const follower = followerOf();
  await sync(follower, site, START + 1);
  const held = follower.held!;
  await site.publish(urls(14), START + PERIOD_S);
  const name = updateFile(1, START + PERIOD_S);
  const full = fullFile(START + PERIOD_S);
  const random = new Random(4);
  const update = site.files.get(name)!;
  const other = new Site();
  await other.publish(urls(10), START);
  await other.publish(urls(15), START + PERIOD_S);
  const wrong: Uint8Array[] = [
    new Uint8Array(),
    random.bytes(40),
    first.get(fullFile(START))!,
    other.files.get(name)!,
  ];
  for (let length = 1; length < update.length; length += 3) wrong.push(update.slice(0, length));
  for (let at = 0; at < update.length; at++) {
    const flipped = update.slice();
    flipped[at] ^= 1 << random.below(8);
    wrong.push(flipped);
  }
  for (const bytes of wrong) {
    // The full file is right: the client takes it after the wrong update.
    const client = followerOf(0, held);
    const { fetched, errors } = await sync(
      client,
      { files: new Map([...site.files, [name, bytes]]) },
      START + PERIOD_S,
    );
    expect([fetched, errors.length]).toEqual([[HEAD_FILE, name, full], 1]);
    expect(client.held!.frame).toEqual(site.last!.frame);
    // Neither is right: the client keeps what it has, and rests.
    const both = new Map([...site.files, [name, bytes], [full, bytes]]);
    const stubborn = followerOf(0, held);
    expect((await sync(stubborn, { files: both }, START + PERIOD_S)).errors.length).toBe(2);
    expect(stubborn.held).toEqual(held);
    expect(stubborn.next(START + PERIOD_S).kind).toBe('wait');
  }
});

test('a file that was not asked for is refused', async () => {
  const site = new Site();
  await site.publish(urls(3), START);
  const follower = followerOf();
  const outcome = await follower.receive(fullFile(START), site.files.get(fullFile(START))!, START);
  expect(outcome.status).toBe('refused');
  expect(follower.held).toBe(null);
});

test('a follower that begins with a stored list refuses older ones', async () => {
  const site = new Site();
  await site.publish(urls(3), START);
  const old = new Map(site.files);
  await site.publish(urls(4), START + PERIOD_S);
  const first = followerOf();
  await sync(first, site, START + PERIOD_S);
  const second = followerOf(0, first.held!);
  expect(codesOf((await sync(second, { files: old }, START + PERIOD_S + 5)).errors)).toEqual(['stale']);
});

test('after success a client rests until the next publication, at a random time of ten minutes', async () => {
  const site = new Site();
  await site.publish(urls(3), START);
  const random = new Random(11);
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const follower = followerOf(random.below(1000) / 1000);
    await sync(follower, site, START + 5);
    const step = follower.next(START + 5);
    if (step.kind === 'wait') times.push(step.untilS - START - PERIOD_S);
  }
  expect(times.length).toBe(200);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(30);
  expect(Math.max(...times)).toBeLessThanOrEqual(630);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(500);
});

test('failures make the pauses longer, up to a period, and a success ends that', async () => {
  const follower = followerOf(1);
  const pauses: number[] = [];
  let nowS = START;
  for (let i = 0; i < 8; i++) {
    expect(follower.next(nowS).kind).toBe('fetch');
    follower.fail(HEAD_FILE, nowS);
    const step = follower.next(nowS) as { untilS: number };
    pauses.push(step.untilS - nowS);
    nowS = step.untilS;
  }
  expect(pauses).toEqual([120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  const site = new Site();
  await site.publish(urls(3), nowS);
  await sync(follower, site, nowS);
  expect(follower.ageS(nowS)).toBeLessThan(PERIOD_S);
  follower.fail(HEAD_FILE, nowS);
  expect((follower.next(nowS) as { untilS: number }).untilS - nowS).toBe(120);
});

test('wake ends a rest, once', async () => {
  const site = new Site();
  await site.publish(urls(3), START);
  const follower = followerOf();
  await sync(follower, site, START);
  follower.wake();
  expect((await sync(follower, site, START + 1)).fetched).toEqual([HEAD_FILE]);
  expect(follower.next(START + 2).kind).toBe('wait');
});

test('a clock that was set back stops a client for two periods at most', async () => {
  const site = new Site();
  await site.publish(urls(3), START);
  const follower = followerOf();
  await sync(follower, site, START);
  expect(follower.next(START + 60).kind).toBe('wait');
  expect(follower.next(START - 10 * PERIOD_S).kind).toBe('fetch');
});

test('members of one group cannot test URLs against the list of another', async () => {
  const [a, b] = await Promise.all([1, 2].map((byte) => listKey(new Uint8Array(32).fill(byte))));
  const pages = urls(1000);
  const lists = [a, b].map((key) => buildList(pages, { key }));
  expect(pages.every((url) => lists.every((list) => list.has(url)))).toBe(true);
  // Without the key, or with that of the other group, a frame cannot be asked at all.
  expect(() => HashList.decode(lists[0].encode())).toThrow(/a secret key/);
  expect(() => HashList.decode(lists[0].encode(), { key: b })).toThrow();
  // A member of the other group puts these positions under the head of a list of its own, so that
  // its key fits. It finds pages as often as by chance.
  const empty = [a, b].map((key) =>
    new HashList({ bits: lists[0].bits, capacity: lists[0].capacity, key }).encode(),
  );
  const positions = listChanges(empty[0], lists[0].encode());
  const stolen = applyListUpdate(empty[1], makeListUpdate(empty[1], positions));
  const answers = HashList.decode(stolen, { key: b }).hasMany(pages);
  const found = answers.reduce((sum, answer) => sum + answer, 0);
  expectBinomial(found, pages.length, positions.present.length / lists[0].bits, 'pages found by outsiders');
});
