/**
 * A disk that fails under a whole node: full, damaged in any bit of any file, unreadable, taken
 * away while it runs. In each case clients go on getting right answers, from memory or from the
 * origin; what is damaged is found out before a byte of it is given out.
 *
 * Objects are those of chaos-world.ts, so that each answer is checked to the byte. Nodes run in
 * this process: they are started often, and none is killed.
 */

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EFFORT } from '@bloomery/testkit/effort';
import { World } from '@bloomery/testkit/origins/chaos-world';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { type CacheNode, startNode } from '../../src/node/start-node.ts';

/** Without those that are never stored. */
const IDS = Array.from({ length: 24 }, (_, id) => id).filter((id) => id % 6 !== 4);
/** Each of them is answered without a word from the origin, while it is stored. */
const LONG = IDS.filter((id) => id % 6 === 0 || id % 6 === 3 || id % 6 === 5);

let world: World;
let scratch: string;
/** A folder that a node has filled and left. */
let filled: string;
const running = new Set<CacheNode>();

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'bloomery-chaos-disk-'));
  world = new World({ objects: 24, largeBytes: 300_000, changes: 0 });
  await world.listen();
  filled = join(scratch, 'filled');
  const { node, port } = await start(filled);
  // Thrice: the disk takes a thing at second sight.
  for (let i = 0; i < 3; i++) expect(await askAll(port)).toEqual([]);
  await close(node);
});
afterEach(async () => {
  for (const node of running) await close(node);
});
afterAll(async () => {
  await world.close();
  rmSync(scratch, { recursive: true, force: true });
});

async function start(folder: string, flags: Record<string, unknown> = {}) {
  const lines: { level: string; event: string }[] = [];
  const config = loadConfig({
    flags: {
      listen: ['127.0.0.1:0'],
      upstream: [`/=http://127.0.0.1:${world.port}/`],
      // As little as is allowed, so that the disk is asked.
      memory: '1MB',
      disk: folder,
      diskSize: '50MB',
      ...flags,
    },
  });
  const log = new Log({ level: 'info', format: 'json', write: (line) => lines.push(JSON.parse(line)) });
  const node = await startNode(config, { log });
  running.add(node);
  return { node, port: node.listen[0]!.port, lines };
}

async function close(node: CacheNode): Promise<void> {
  running.delete(node);
  await node.close(0);
}

/** Faults in the answers, if they are all asked for; an error of the node counts as one. */
async function askAll(port: number, ids: readonly number[] = IDS): Promise<string[]> {
  const wrong: string[] = [];
  const rest = [...ids];
  const client = async (): Promise<void> => {
    for (let id = rest.shift(); id !== undefined; id = rest.shift()) {
      try {
        const verdict = await world.ask(port, id);
        if (verdict.wrong !== null) wrong.push(`${id}: ${verdict.wrong}`);
        else if (verdict.cut || verdict.status !== 200)
          wrong.push(`${id}: ${verdict.status}, cut: ${verdict.cut}`);
      } catch (error) {
        wrong.push(`${id}: ${error}`);
      }
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  return wrong;
}

/** A copy of the filled folder, changed. */
function damaged(name: string, change: (folder: string) => void): string {
  const folder = join(scratch, name.replaceAll(/\W+/g, '-'));
  rmSync(folder, { recursive: true, force: true });
  cpSync(filled, folder, { recursive: true });
  change(folder);
  return folder;
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

function flip(path: string, bit: number): void {
  const fd = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, bit >>> 3);
  byte[0]! ^= 1 << (bit & 7);
  writeSync(fd, byte, 0, 1, bit >>> 3);
  closeSync(fd);
}

/** Starts on it, asks for all twice, and gives how often the origin was asked. */
async function survive(folder: string): Promise<{ asked: number; corrupt: number; lines: string[] }> {
  const before = world.requests;
  const { node, port, lines } = await start(folder);
  expect(await askAll(port, LONG)).toEqual([]);
  const asked = world.requests - before;
  expect(await askAll(port)).toEqual([]);
  const { corrupt } = node.store.statistics;
  await close(node);
  return { asked, corrupt, lines: lines.filter(({ level }) => level === 'error').map(({ event }) => event) };
}

describe('a folder that was damaged between two runs', () => {
  it('is what it should be, if nothing happened to it', async () => {
    const { asked, corrupt } = await survive(damaged('whole', () => {}));
    expect([asked, corrupt]).toEqual([0, 0]);
  });

  it('has a flipped bit somewhere, in each of its files', async () => {
    const random = new Random(0xb17);
    const files = filesIn(filled).filter(
      (file) => !/lock/.test(file) && statSync(join(filled, file)).size > 0,
    );
    expect(files.some((file) => file.includes('packs/'))).toBe(true);
    expect(files.some((file) => file.includes('bodies/'))).toBe(true);
    expect(files.some((file) => file.includes('index/'))).toBe(true);
    let found = 0;
    const bodyFiles = files.filter((file) => file.includes('bodies/'));
    // In CI, one body file in three.
    const some = files.filter((file) => EFFORT > 1 || bodyFiles.indexOf(file) % 3 <= 0);
    for (const file of some) {
      const { size } = statSync(join(filled, file));
      const bodies = file.includes('bodies/');
      for (let i = 0; i < (bodies ? 1 : 2) * EFFORT; i++) {
        const bit = i === 0 ? random.below(8 * Math.min(size, 64)) : random.below(8 * size);
        const { asked, corrupt, lines } = await survive(
          damaged('flip', (folder) => flip(join(folder, file), bit)),
        );
        expect(lines, `${file}, bit ${bit}`).toEqual([]);
        if (asked > 0 || corrupt > 0) found++;
        if (bodies) expect(corrupt, `${file}, bit ${bit}`).toBeGreaterThan(0);
      }
    }
    expect(found).toBeGreaterThan(some.length / 2);
  });

  it.each<readonly [string, (path: string) => void]>([
    ['shortened by a byte', (path) => truncateSync(path, statSync(path).size - 1)],
    ['cut in half', (path) => truncateSync(path, statSync(path).size >>> 1)],
    ['empty', (path) => truncateSync(path, 0)],
    ['gone', (path) => rmSync(path)],
    [
      'a folder',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
    ['all zeros', (path) => writeFileSync(path, Buffer.alloc(statSync(path).size))],
  ])('has a file that is %s, whichever', async (name, change) => {
    // Without the file that says that the folder is a cache's, it might belong to another program,
    // and is refused. An index that cannot even be read (not: that is damaged) keeps a node from
    // starting.
    const left = name === 'a folder' ? /lock|\.json|index\// : /lock|bloomery-cache\.json/;
    const files = filesIn(filled).filter((file) => !left.test(file));
    const bodies = files.filter((file) => file.includes('bodies/'));
    // One body file stands for all.
    for (const file of [...files.filter((each) => !bodies.includes(each)), bodies[0]!]) {
      const folder = damaged(`file ${name}`, (copy) => change(join(copy, file)));
      const { lines } = await survive(folder).catch((error: Error) => {
        throw new Error(`${file} ${name}: ${error.message}`, { cause: error });
      });
      expect(lines, file).toEqual([]);
    }
  });

  it('has a log that ends anywhere', async () => {
    const log = filesIn(filled)
      .filter((file) => /index\/log-/.test(file))
      .at(-1)!;
    const size = statSync(join(filled, log)).size;
    for (let i = 0; i < 4 * EFFORT; i++) {
      const length = Math.floor((size * i) / (4 * EFFORT));
      await survive(damaged('log', (folder) => truncateSync(join(folder, log), length)));
    }
  });
});

describe('a folder that is taken away while a node runs', () => {
  it.each<readonly [string, (folder: string) => void]>([
    ['all of it', (folder) => rmSync(folder, { recursive: true, force: true })],
    ['its bodies', (folder) => rmSync(join(folder, 'worker-0', 'bodies'), { recursive: true, force: true })],
    ['its packs', (folder) => rmSync(join(folder, 'worker-0', 'packs'), { recursive: true, force: true })],
    ['its index', (folder) => rmSync(join(folder, 'worker-0', 'index'), { recursive: true, force: true })],
    [
      'what is on its way',
      (folder) => rmSync(join(folder, 'worker-0', 'tmp'), { recursive: true, force: true }),
    ],
    [
      'what its files say',
      (folder) => {
        for (const file of filesIn(join(folder, 'worker-0')))
          if (!/lock/.test(file)) truncateSync(join(folder, 'worker-0', file), 0);
      },
    ],
  ])('%s', async (name, change) => {
    const folder = damaged(`running ${name}`, () => {});
    const { node, port } = await start(folder);
    expect(await askAll(port, LONG.slice(0, 4))).toEqual([]);
    change(folder);
    for (let i = 0; i < 3; i++) {
      expect(await askAll(port), `round ${i}`).toEqual([]);
      for (const id of LONG.slice(4, 8)) world.change(id);
      await node.purge(`http://127.0.0.1:${port}${world.path(LONG[9]!)}`).catch(() => {});
    }
    await close(node).catch(() => {});
    // And what is left of it can be used again.
    const again = await start(folder);
    for (let i = 0; i < 3; i++) expect(await askAll(again.port), 'after a restart').toEqual([]);
  });
});

describe('a full disk', () => {
  let place: string | null = null;
  beforeAll(() => {
    const folder = join(scratch, 'small');
    mkdirSync(folder);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'ignore' });
      place = folder;
    } catch {
      // Only root may, and not in every container.
    }
  });
  afterAll(() => {
    if (place !== null) execFileSync('umount', ['-l', place]);
  });

  it('lets everything through, and keeps what it has', async (context) => {
    if (place === null) return context.skip('no small file system: mount needs root');
    const { node, port } = await start(join(place, 'disk'));
    for (let i = 0; i < 4; i++) expect(await askAll(port), `round ${i}`).toEqual([]);
    // Many at once, the large ones too.
    const all = await Promise.all(
      Array.from({ length: 60 }, (_, i) => world.ask(port, (i * 5) % 24).catch(String)),
    );
    for (const verdict of all) {
      expect(verdict).toBeTypeOf('object');
      expect(verdict).toMatchObject({ wrong: null, cut: false, status: 200 });
    }
    await close(node);
    const again = await start(join(place, 'disk'));
    for (let i = 0; i < 2; i++) expect(await askAll(again.port), 'after a restart').toEqual([]);
  });

  it('has after a restart what it had before, when there is room again', async (context) => {
    if (place === null) return context.skip('no small file system: mount needs root');
    const folder = join(place, 'again');
    const hog = join(place, 'hog');
    rmSync(join(place, 'disk'), { recursive: true, force: true });
    const { port, node } = await start(folder);
    const small = LONG.filter((id) => world.size(id, world.version(id)) < 50_000);
    for (let i = 0; i < 3; i++) expect(await askAll(port, small)).toEqual([]);
    fillUp(hog);
    for (let i = 0; i < 3; i++) expect(await askAll(port)).toEqual([]);
    rmSync(hog);
    for (let i = 0; i < 3; i++) expect(await askAll(port, small)).toEqual([]);
    await close(node);
    const before = world.requests;
    const again = await start(folder);
    expect(await askAll(again.port, small)).toEqual([]);
    // What was stored before it was full is still known.
    expect(world.requests - before).toBeLessThan(small.length);
  });
});

function fillUp(path: string): void {
  const fd = openSync(path, 'w');
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeSync(fd, block);
  } catch {
    expect(fstatSync(fd).size).toBeGreaterThan(0);
  } finally {
    closeSync(fd);
  }
}
