import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { hashKey, hashKeys, SecretKey } from 'bloomery';
import { afterEach, expect, test } from 'vitest';
import { tableShape } from '../tables/digest-table.ts';
import { TracebackError } from '../traceback-error.ts';
import { openTable, readTableHead } from './table-file.ts';
import { decodeJournal, TableJournal } from './table-journal.ts';
import { TableStore, type TableStoreOptions } from './table-store.ts';

const key = new SecretKey(new Uint8Array(16).fill(9));
const folders: string[] = [];
const EVER = { firstS: 0, lastS: 1e12 };

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'bloomery-tables-'));
  folders.push(made);
  return made;
}

function options(place: string, more: Partial<TableStoreOptions> = {}): TableStoreOptions {
  return {
    folder: place,
    kind: 'packets',
    key,
    payloadBytes: 44,
    shape: tableShape(1 << 12),
    spanS: 60,
    budget: { bytes: 1e9, seconds: 1e9 },
    ...more,
  };
}

/** Adds packets by number, each at its own second. */
function add(store: TableStore, from: number, count: number, timeOf = (i: number) => i): void {
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  store.add(hashKeys(numbers, key.scheme).words, Float64Array.from(numbers, timeOf));
}

const ask = (store: TableStore, number: number, window = EVER) =>
  store.ask(() => hashKey(number, key.scheme), window);

test('tables are closed by time and by number, and every digest is found at its time', async () => {
  const store = TableStore.open(options(folder()));
  add(store, 0, 1000);
  expect(store.tables.length).toBe(16);
  // 10,000 packets in one second: by number.
  add(store, 5000, 10_000, () => 2000);
  expect(store.tables.length).toBeGreaterThan(18);
  for (const number of [0, 59, 60, 999, 5000, 14_999]) expect((await ask(store, number)).seen).toBe(true);
  const at = await ask(store, 130, { firstS: 125, lastS: 135 });
  expect(at).toMatchObject({ seen: true, tables: 1, sightings: [{ firstS: 120, lastS: 179 }] });
  expect(at.expectedByChance).toBeLessThan(0.02);
  expect((await ask(store, 130, { firstS: 300, lastS: 310 })).seen).toBe(false);
  store.close();
});

test('a store answers like a list of all packets, over restarts in the middle of a table', async () => {
  const random = new Random(77);
  const settings = options(folder());
  let store = TableStore.open(settings);
  const times = new Map<number, number>();
  for (let round = 0, now = 0; round < withEffort(40, 20); round++) {
    const count = 1 + random.below(900);
    const step = random.pick([0, 0.001, 0.1, 1]);
    const from = 10_000 * round;
    add(store, from, count, (i) => now + step * (i - from));
    for (let i = 0; i < count; i++) times.set(from + i, now + step * i);
    now += step * count;
    store.flush();
    // A restart without closing, as after kill -9.
    if (round % 3 === 2) store = TableStore.open(settings);
  }
  const all = [...times];
  for (let i = 0; i < withEffort(1000, 500); i++) {
    const [number, timeS] = random.pick(all);
    expect((await ask(store, number, { firstS: timeS, lastS: timeS })).seen).toBe(true);
  }
  store.close();
});

test('a table that is closed while a question is being answered is not missed', async () => {
  const store = TableStore.open(options(folder(), { spanS: 1 }));
  add(store, 0, 300);
  expect(store.tables.length).toBeGreaterThan(128);
  const before = store.tables.length;
  const answer = ask(store, 299);
  store.closeTable();
  expect(store.tables.length).toBe(before + 1);
  expect((await answer).sightings).toContainEqual(expect.objectContaining({ lastS: 299 }));
});

test('a journal that takes the place of another has the records of the table from its first moment', () => {
  const place = folder();
  const path = join(place, 'open.journal');
  const head = { kind: 'packets', payloadBytes: 44, sequence: 3, blocks: 64, hashes: 6 } as const;
  const record = { words: Int32Array.of(1, 2, 3, 4), firstS: 10, lastS: 11 };
  const journal = TableJournal.start(path, head, [record]);
  expect(journal.bytes).toBe(readFileSync(path).length);
  expect(decodeJournal(readFileSync(path))).toEqual({ head, records: [record], isTorn: false });
  journal.close();
});

test('digests since the last flush are lost by a kill, those before it are not', async () => {
  const settings = options(folder());
  const killed = TableStore.open(settings);
  add(killed, 0, 30);
  killed.flush();
  add(killed, 30, 20);
  const store = TableStore.open(settings);
  expect(store.openPackets).toBe(30);
  expect((await ask(store, 29)).seen).toBe(true);
  store.close();
});

test('a journal that is cut anywhere gives its whole records, and bytes of chance give nothing', () => {
  const settings = options(folder());
  const store = TableStore.open(settings);
  for (let i = 0; i < 5; i++) {
    add(store, 3 * i, 3);
    store.flush();
  }
  const bytes = readFileSync(join(settings.folder, 'open.journal'));
  const record = 24 + 24;
  for (let length = 0; length <= bytes.length; length++) {
    const read = decodeJournal(bytes.subarray(0, length));
    if (length < 36) expect(read).toBeNull();
    else expect(read?.records.length).toBe(Math.floor((length - 36) / record));
  }
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Uint8Array.from(bytes);
    damaged[at] ^= 16;
    expect(decodeJournal(damaged)?.records.length ?? -1).toBeLessThan(5);
  }
});

test('a table that was cut, changed or written with another key is left out with a warning', async () => {
  const settings = options(folder());
  const store = TableStore.open(settings);
  add(store, 0, 200);
  store.close();
  const [first, second, third] = readdirSync(settings.folder).filter((name) => name.endsWith('.digests'));
  truncateSync(join(settings.folder, first), 200);
  const path = join(settings.folder, second);
  const bytes = readFileSync(path);
  bytes[bytes.length - 40] ^= 1;
  writeFileSync(path, bytes);
  const warnings: string[] = [];
  const again = TableStore.open({ ...settings, warn: (message) => warnings.push(message) });
  expect(again.tables.map((table) => table.sequence)).toEqual([1, 2]);
  expect(warnings.join()).toContain(first);
  expect(await again.verify()).toBe(1);
  expect(warnings.join()).toContain(second);
  expect(again.tables.map((table) => table.sequence)).toEqual([2]);
  // The number of a damaged table is not used again.
  add(again, 1000, 200, (i) => i);
  expect(again.tables.at(-1)?.sequence).toBeGreaterThan(3);
  again.close();
  const other = new SecretKey(new Uint8Array(16).fill(1));
  expect(() => openTable(join(settings.folder, third), other)).toThrow(
    expect.objectContaining({ code: 'table' }),
  );
});

test('every prefix and every flipped bit of a head is refused with a TracebackError', () => {
  const settings = options(folder());
  const store = TableStore.open(settings);
  add(store, 0, 100);
  store.close();
  const [{ path, bytes: size }] = store.tables;
  const whole = readFileSync(path).subarray(0, 124);
  for (let length = 0; length < 124; length++) {
    expect(() => readTableHead('x', whole.subarray(0, length), size, key)).toThrow(TracebackError);
  }
  for (let bit = 0; bit < 8 * 96; bit++) {
    const damaged = Uint8Array.from(whole);
    damaged[bit >> 3] ^= 1 << (bit & 7);
    expect(() => readTableHead('x', damaged, size, key)).toThrow(TracebackError);
  }
  expect(() => readTableHead('x', whole, size + 1, key)).toThrow(TracebackError);
});

test('the oldest tables are discarded by time and by space', async () => {
  const byTime = TableStore.open(options(folder(), { budget: { bytes: 1e9, seconds: 300 } }));
  add(byTime, 0, 2000);
  expect(byTime.tables.length).toBeLessThanOrEqual(6);
  expect((await ask(byTime, 100)).seen).toBe(false);
  expect((await ask(byTime, 1800)).seen).toBe(true);
  const bySpace = TableStore.open(options(folder(), { budget: { bytes: 2000, seconds: 1e9 } }));
  add(bySpace, 0, 2000);
  expect(bySpace.tables.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(2000);
  expect(bySpace.discarded).toBeGreaterThan(20);
  expect(bySpace.coveredFromS).toBe(bySpace.tables[0].firstS);
});

test('one packet with a wrong time discards nothing, and does not stop the discarding', async () => {
  const settings = options(folder(), { budget: { bytes: 1e9, seconds: 300 } });
  let store = TableStore.open(settings);
  add(store, 0, 1000);
  expect((await ask(store, 950)).seen).toBe(true);
  // A clock that jumps, or a damaged record of a capture: the year 2096, and back.
  add(store, 5000, 1, () => 4e9);
  add(store, 1000, 60);
  expect((await ask(store, 950)).seen).toBe(true);
  store.close();
  store = TableStore.open(settings);
  add(store, 1060, 140);
  expect((await ask(store, 950)).seen).toBe(true);
  add(store, 1200, 1200);
  expect((await ask(store, 950)).seen).toBe(false);
  expect((await ask(store, 2399)).seen).toBe(true);
  expect(store.tables.length).toBeLessThanOrEqual(7);
  store.close();
});

test('a flood of one packet fills neither memory nor the journal', async () => {
  const store = TableStore.open(options(folder()));
  const { capacity } = tableShape(1 << 12);
  const journalBytes = () => store.bytes - store.tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const { words } = hashKeys(new Array<number>(1000).fill(7), key.scheme);
  for (let round = 0; round < 100; round++) {
    store.add(words, new Float64Array(1000).fill(50));
    store.flush();
    expect(journalBytes()).toBeLessThan(8 * 5 * capacity);
  }
  // Each table holds one digest, and is folded to a few hundred bytes.
  expect(store.tables.length).toBeGreaterThan(3);
  expect(store.tables.every(({ bytes }) => bytes < 400)).toBe(true);
  expect(await ask(store, 7)).toMatchObject({ seen: true, sightings: [{ firstS: 50, lastS: 50 }] });
  store.close();
});

test('verify leaves out a table whose file is gone', async () => {
  const settings = options(folder());
  const warnings: string[] = [];
  const store = TableStore.open({ ...settings, warn: (message) => warnings.push(message) });
  add(store, 0, 200);
  const before = store.tables.length;
  rmSync(store.tables[1].path);
  expect(await store.verify()).toBe(1);
  expect([store.tables.length, warnings.length]).toEqual([before - 1, 1]);
  store.close();
});

test('a full disk costs the oldest tables, and the newest packets are there', async (context) => {
  const place = folder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', place], { stdio: 'pipe' });
  } catch {
    return context.skip('this user may not mount a small disk');
  }
  try {
    const settings = options(place, { shape: tableShape(1 << 15) });
    const store = TableStore.open(settings);
    for (let round = 0; round < 40; round++) {
      add(store, 26_000 * round, 26_000, () => 10 * round);
      store.flush();
    }
    expect(store.discarded).toBeGreaterThan(10);
    expect(store.lost).toBe(0);
    expect((await ask(store, 26_000 * 40 - 1)).seen).toBe(true);
    const oldest = store.tables[0].firstS;
    expect((await ask(store, 5, { firstS: 0, lastS: oldest - 1 })).tables).toBe(0);
    store.close();
    const again = TableStore.open(settings);
    expect((await ask(again, 26_000 * 40 - 1)).seen).toBe(true);
    again.close();
  } finally {
    execFileSync('umount', ['-l', place]);
  }
});
