/**
 * The index on disk: every truncation, every flipped bit. What was removed never comes back,
 * whatever is damaged.
 */

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EFFORT } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BodyTable } from '../bodies/body-table.ts';
import { type Entry, EntryIndex } from './entry-index.ts';
import { IndexJournal } from './index-journal.ts';
import { RecordBuffer } from './index-records.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bloomery-journal-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const entry = (id: number, pack = 1): Entry => ({
  id,
  low: id * 77,
  high: 5,
  pack,
  offset: id * 1000,
  recordBytes: 900,
  body: 0,
  recency: id,
});
const digest = (id: number) => new Uint8Array(32).fill(id);

/** Entries that a start finds: number of the entry to pack, offset, and length of the body. */
async function opened(folder: string): Promise<{ found: Map<number, string>; good: boolean }> {
  const found = new Map<number, string>();
  const journal = new IndexJournal(folder, 1e9);
  const good = await journal.open({
    put: ({ id, low, high, pack, offset }, hash, length) =>
      found.set(id, `${low} ${high} ${pack} ${offset} ${hash?.[31]} ${length}`),
    delete: (id) => found.delete(id),
    forget: () => found.clear(),
  });
  journal.close();
  return { found, good };
}

/**
 * A snapshot of entries 1 to 6 and a log of eleven frames after it. Gives what was stored after
 * each frame.
 */
async function history(folder: string): Promise<Map<number, string>[]> {
  const journal = new IndexJournal(folder, 1e9);
  const index = new EntryIndex();
  const bodies = new BodyTable();
  await journal.open({ put() {}, delete() {}, forget() {} });
  for (let id = 1; id <= 6; id++) {
    const body = id % 2 === 0 ? bodies.add(digest(id), 1e10 + id) : 0;
    index.put({ ...entry(id), body });
  }
  await journal.snapshot(index, bodies);
  await journal.settled();
  const states = [await copied(folder)];
  const records = new RecordBuffer();
  const frame = async (...changes: ((records: RecordBuffer) => void)[]) => {
    for (const change of changes) change(records);
    await journal.append(records);
    states.push(await copied(folder));
  };
  const put =
    (id: number, pack = 1) =>
    (to: RecordBuffer) =>
      to.put(entry(id, pack), id % 3 === 0 ? digest(id) : null, id % 3 === 0 ? 5 : 0);
  const drop = (id: number) => (to: RecordBuffer) => to.delete(id, id * 77, 5);
  await frame(put(7));
  await frame(drop(1));
  await frame(put(8), drop(2));
  await frame(drop(3));
  await frame(put(9), put(10), put(11));
  await frame(put(4, 2));
  await frame(drop(7), drop(8));
  await frame(put(12));
  await frame(drop(4));
  await frame(put(13), drop(12));
  await frame(put(14));
  journal.close();
  return states;
}

async function copied(folder: string): Promise<Map<number, string>> {
  const copy = mkdtempSync(join(directory, 'copy-'));
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  const { found, good } = await opened(copy);
  expect(good).toBe(true);
  rmSync(copy, { recursive: true });
  return found;
}

/** The files of a history, and a folder to put damaged ones into. */
async function setUp() {
  const folder = join(directory, 'whole');
  mkdirSync(folder);
  const states = await history(folder);
  const names = readdirSync(folder);
  const files = new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
  const snapshot = names.find((name) => name.startsWith('snapshot'))!;
  const log = names.filter((name) => name.startsWith('log')).at(-1)!;
  const damaged = async (name: string, bytes: Uint8Array | null) => {
    const at = mkdtempSync(join(directory, 'damaged-'));
    for (const [other, content] of files) {
      if (other !== name) writeFileSync(join(at, other), content);
      else if (bytes !== null) writeFileSync(join(at, other), bytes);
    }
    const result = await opened(at);
    rmSync(at, { recursive: true });
    return result;
  };
  return { states, files, snapshot, log, damaged };
}

describe('the log', () => {
  test('each truncation gives what was stored at some frame, no later than the last whole one', async () => {
    const { states, files, log, damaged } = await setUp();
    const bytes = files.get(log)!;
    const results = await inLanes(bytes.length + 1, (length) => damaged(log, bytes.subarray(0, length)));
    let at = 0;
    for (const [length, { found }] of results.entries()) {
      while (at < states.length - 1 && !same(states[at], found)) at++;
      if (!same(states[at], found)) expect.fail(`${length} bytes: ${[...found.keys()]}`);
    }
    expect(at).toBe(states.length - 1);
  });

  test('each flipped bit: nothing comes back, nothing is wrong', async () => {
    const { states, files, log, damaged } = await setUp();
    const last = states.at(-1)!;
    const bytes = files.get(log)!;
    const random = new Random(1);
    await inLanes(bytes.length, async (at) => {
      for (const bit of EFFORT > 1 ? [0, 1, 2, 3, 4, 5, 6, 7] : [random.below(8)]) {
        const copy = Buffer.from(bytes);
        copy[at] ^= 1 << bit;
        const { found, good } = await damaged(log, copy);
        if (good) expect.fail(`bit ${bit} of byte ${at} was not noticed`);
        // Removals after the hole are known, those in it are not, so nothing from before it may be
        // left.
        expectNothingElse(found, last, `bit ${bit} of byte ${at}`);
      }
    });
  });

  test('a log that is missing between two others is a hole', async () => {
    const folder = join(directory, 'gap');
    mkdirSync(folder);
    const records = new RecordBuffer();
    for (let id = 1; id <= 3; id++) {
      const journal = new IndexJournal(folder, 1e9);
      await journal.open({ put() {}, delete() {}, forget() {} });
      records.put(entry(id), null, 0);
      await journal.append(records);
      journal.close();
    }
    const logs = readdirSync(folder).sort();
    rmSync(join(folder, logs[1]));
    const { found, good } = await opened(folder);
    expect(good).toBe(false);
    expect([...found.keys()]).toEqual([3]);
  });
});

describe('the snapshot', () => {
  test('each truncation and each flipped bit loses entries, and invents none', async () => {
    const { states, files, snapshot, damaged } = await setUp();
    const last = states.at(-1)!;
    const bytes = files.get(snapshot)!;
    const check = ({ found }: { found: Map<number, string> }, what: string) => {
      expectNothingElse(found, last, what);
      // What the log has is there in any case.
      for (const id of [9, 10, 11, 13, 14]) if (!found.has(id)) expect.fail(`${what}: ${id} is lost`);
    };
    await inLanes(bytes.length, async (at) => {
      check(await damaged(snapshot, bytes.subarray(0, at)), `${at} bytes`);
      const copy = Buffer.from(bytes);
      copy[at] ^= 1 << (at % 8);
      check(await damaged(snapshot, copy), `byte ${at}`);
    });
    check(await damaged(snapshot, null), 'none');
  });

  test('one of many frames is damaged: the others are read', async () => {
    const folder = join(directory, 'large');
    mkdirSync(folder);
    const journal = new IndexJournal(folder, 1e9);
    await journal.open({ put() {}, delete() {}, forget() {} });
    const index = new EntryIndex();
    for (let id = 1; id <= 20_000; id++) index.put(entry(id));
    await journal.snapshot(index, new BodyTable());
    await journal.settled();
    journal.close();
    const path = join(folder, readdirSync(folder).find((name) => name.startsWith('snapshot'))!);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] ^= 16;
    // The length of a frame: the next one has to be searched for.
    bytes[5] ^= 1;
    writeFileSync(path, bytes);
    const { found, good } = await opened(folder);
    expect(good).toBe(false);
    const lost = 20_000 - found.size;
    expect(lost).toBeGreaterThan(1000);
    expect(lost).toBeLessThan(4000);
  });

  test('changes while it is written are not lost', async () => {
    const folder = join(directory, 'busy');
    mkdirSync(folder);
    const journal = new IndexJournal(folder, 1e9);
    await journal.open({ put() {}, delete() {}, forget() {} });
    const index = new EntryIndex();
    const bodies = new BodyTable();
    for (let id = 1; id <= 20_000; id++) index.put(entry(id));
    await journal.snapshot(index, bodies);
    const writing = journal.settled();
    let done = false;
    void writing.then(() => {
      done = true;
    });
    const random = new Random(3);
    const records = new RecordBuffer();
    for (let id = 20_001; !done; id++) {
      const gone = random.below(20_000) + 1;
      const slot = index.find(gone, (gone * 77) >>> 0, 5);
      if (slot >= 0) records.delete(gone, gone * 77, 5);
      records.put(entry(id), null, 0);
      await journal.append(records);
      // As in ledger.ts: first the log, then memory.
      if (slot >= 0) index.delete(slot);
      index.put(entry(id));
    }
    journal.close();
    const { found } = await opened(folder);
    expect(found.size).toBe(index.count);
    for (let slot = 0; slot < index.bound; slot++) {
      if (index.used(slot)) expect(found.has(index.ids[slot])).toBe(true);
    }
  });
});

/** Does something for 0, 1, … count - 1, eight at a time: most of it is waiting for files. */
async function inLanes<T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const at = next++;
      results[at] = await work(at);
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return results;
}

/** `expect` for each of them would take most of the time. */
function expectNothingElse(found: Map<number, string>, right: Map<number, string>, what: string): void {
  for (const [id, place] of found) {
    if (place !== right.get(id))
      expect.fail(`${what}: entry ${id} is at ${place}, expected ${right.get(id)}`);
  }
}

function same(a: Map<number, string>, b: Map<number, string>): boolean {
  return a.size === b.size && [...a].every(([id, place]) => b.get(id) === place);
}
