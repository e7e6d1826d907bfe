/**
 * A volume that is smaller than `--disk-size`, and one on which others leave no free byte, under a
 * whole node: the node evicts, starts again, and goes on in memory where nothing can be written.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { World } from '@bloomery/testkit/origins/chaos-world';
import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestContext, test } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { type CacheNode, startNode } from '../../src/node/start-node.ts';

const VOLUME_BYTES = 6 * 2 ** 20;

let world: World;
let scratch: string;
let volume: string;
const running = new Set<CacheNode>();

/** Objects that stay fresh, 15 MB in all. */
const IDS = Array.from({ length: 900 }, (_, id) => id).filter((id) => id % 6 === 0 || id % 6 === 3);

beforeAll(async () => {
  world = new World({ objects: 900, changes: 0 });
  await world.listen();
});
afterAll(() => world.close());

beforeEach((context: TestContext) => {
  scratch = mkdtempSync(join(tmpdir(), 'bloomery-small-volume-'));
  volume = join(scratch, 'volume');
  mkdirSync(volume);
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${VOLUME_BYTES}`, 'tmpfs', volume];
    execFileSync('mount', options, { stdio: 'pipe' });
  } catch (error) {
    context.skip(`cannot mount a small file system here (it takes root): ${(error as Error).message}`);
  }
});
afterEach(async () => {
  for (const node of running) await close(node);
  spawnSync('umount', ['-l', volume]);
  rmSync(scratch, { recursive: true, force: true });
});

async function start() {
  const lines: { level: string; event: string }[] = [];
  const config = loadConfig({
    flags: {
      listen: ['127.0.0.1:0'],
      upstream: [`/=http://127.0.0.1:${world.port}/`],
      memory: '1MB',
      disk: join(volume, 'cache'),
      diskSize: '50MB',
    },
  });
  const log = new Log({ level: 'info', format: 'json', write: (line) => lines.push(JSON.parse(line)) });
  const node = await startNode(config, { log });
  running.add(node);
  return { node, port: node.listen[0]!.port, lines, events: () => lines.map(({ event }) => event) };
}

async function close(node: CacheNode): Promise<void> {
  running.delete(node);
  await node.close(0);
}

/** Asks for each object twice, because the disk takes it at second sight. Returns the hits. */
async function ask(port: number, ids: readonly number[], times = 2): Promise<number> {
  let hits = 0;
  for (const id of ids) {
    for (let i = 0; i < times; i++) {
      const verdict = await world.ask(port, id);
      expect(verdict).toMatchObject({ wrong: null, cut: false, status: 200 });
      if (verdict.hit) hits++;
    }
  }
  return hits;
}

async function diskOf(node: CacheNode) {
  return (await node.status()).stores.disk!;
}

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(volume);
  return bavail * bsize;
}

/** Takes all bytes of the volume that are free. */
function takeAll(): void {
  spawnSync('sh', ['-c', `cat /dev/zero > ${volume}/hog`]);
  expect(freeBytes()).toBe(0);
}

test('a volume smaller than the configured size: old responses go, new ones are kept, and it starts again', async () => {
  const { node, port, lines, events } = await start();
  await ask(port, IDS);
  const { evictions, bytes, capacityBytes } = await diskOf(node);
  expect(evictions).toBeGreaterThan(0);
  expect(capacityBytes).toBeLessThan(VOLUME_BYTES);
  expect(bytes).toBeGreaterThan(VOLUME_BYTES / 2);
  expect(events()).toContain('disk-small');
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  await close(node);
  const again = await start();
  // The last of them, which memory held as well, and more than memory could hold.
  expect(await ask(again.port, IDS.slice(-80), 1)).toBeGreaterThan(70);
});

test('another program takes all free bytes while a node runs: old responses make room for new ones', async () => {
  const { node, port, events } = await start();
  const [before, after] = [IDS.slice(0, 60), IDS.slice(60, 120)];
  await ask(port, before);
  takeAll();
  expect((await diskOf(node)).evictions).toBe(0);
  await ask(port, after);
  expect((await diskOf(node)).evictions).toBeGreaterThan(0);
  expect(events().filter((event) => event === 'disk-full')).toHaveLength(1);
  await close(node);
  const again = await start();
  // Those of the end are kept; the first ones made room.
  expect(await ask(again.port, after.slice(-20), 1)).toBeGreaterThan(15);
  expect(await ask(again.port, before.slice(0, 5), 1)).toBeLessThan(5);
});

test('a volume without a free byte at the start: the node makes room, and stores', async () => {
  const first = await start();
  await ask(first.port, IDS.slice(0, 100));
  await close(first.node);
  takeAll();
  const { node, port, events } = await start();
  expect(node.folder).not.toBeNull();
  expect(events()).toContain('disk-small');
  await ask(port, IDS.slice(200, 260));
  await close(node);
  const again = await start();
  expect(await ask(again.port, IDS.slice(250, 260), 1)).toBe(10);
});

test('a volume on which nothing at all can be written: the node goes on in memory and says so', async () => {
  takeAll();
  const { node, port, lines } = await start();
  expect(node.folder).toBeNull();
  expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', event: 'disk-unused' }));
  expect(await ask(port, IDS.slice(0, 5))).toBe(5);
});

test('without room even for a lock, an old store is dropped, so that nothing purged meanwhile comes back', async () => {
  const first = await start();
  await ask(first.port, IDS.slice(0, 10));
  await close(first.node);
  const folder = join(volume, 'cache', 'worker-0');
  rmSync(join(folder, 'packs', 'reserve'));
  takeAll();
  const { node, port } = await start();
  expect(await ask(port, IDS.slice(0, 10), 1)).toBe(0);
  await close(node);
  expect(existsSync(folder)).toBe(node.folder !== null);
});

test('without room for a lock, the store of an owner on another machine stays', async () => {
  const first = await start();
  await ask(first.port, IDS.slice(0, 10));
  await close(first.node);
  const folder = join(volume, 'cache');
  rmSync(join(folder, 'worker-0', 'packs', 'reserve'));
  const elsewhere = { pid: 1, began: '1', boot: 'another', namespace: 'pid:[1]', host: 'elsewhere' };
  const lock = join(folder, 'lock');
  writeFileSync(lock, JSON.stringify({ ...elsewhere, socket: '', token: 'ab', signs: true }));
  takeAll();
  let seconds = Date.now() / 1000;
  const signs = setInterval(() => utimesSync(lock, ++seconds, seconds), 100);
  try {
    await expect(start()).rejects.toThrow('process 1 on elsewhere has it open');
  } finally {
    clearInterval(signs);
  }
  expect(existsSync(join(folder, 'worker-0', 'packs'))).toBe(true);
});
