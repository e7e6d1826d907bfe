/** The journal, the lock and the pages, without the command around them. */

import { execFileSync, spawn } from 'node:child_process';
import fs, {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { journalName, lockName, PagedFrame, writePages, writeSteps } from '@bloomery/files';
import { eventually } from '@bloomery/testkit/eventually';
import { Random } from '@bloomery/testkit/statistics';
import { BlockedBloomFilter, BloomFilter, SecretKey } from 'bloomery';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { lockFile, readSettled, recoverFile } from '../../src/in-place/recovered-file.ts';

let directory: string;
const secret = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
const keysFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => `key ${first + i}`);

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'bloomery-in-place-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const at = (name: string) => join(directory, name);

/** The text that is written on standard error while `work` runs. */
async function warningsOf(work: () => void | Promise<void>): Promise<string> {
  const spy = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await work();
    return spy.mock.calls.map(([text]) => text).join('');
  } finally {
    spy.mockRestore();
  }
}

/** Files that begin with a dot and the name of the file: there must be none when all is done. */
function traces(name: string): string[] {
  return readdirSync(directory).filter((found) => found.startsWith(`.${name}.`));
}

describe('PagedFrame', () => {
  const filters = {
    classic: () => new BloomFilter({ bits: 3_000_017, hashes: 7, seed: 9 }),
    partitioned: () => new BloomFilter({ bits: 700_000, hashes: 7, layout: 'partitioned' }),
    keyed: () => new BloomFilter({ bits: 500_003, hashes: 5, key: secret }),
    blocked: () => new BlockedBloomFilter({ blocks: 3001, hashes: 8 }),
    'split-block': () => new BlockedBloomFilter({ blocks: 4001, layout: 'split-block' }),
    'whole pages': () => new BloomFilter({ bits: 8 * (8 * 4096 - 28), hashes: 3 }),
    'of a few bytes': () => new BloomFilter({ bits: 100, hashes: 3 }),
  };

  for (const [name, create] of Object.entries(filters)) {
    test(`${name}: the file is what loading, adding and encoding gives, and so are the counts`, () => {
      const filter = create();
      filter.addMany(keysFrom(0, filter.bits < 1000 ? 3 : 30_000));
      const path = at('paged.blm');
      writeFileSync(path, filter.encode());
      const key = name === 'keyed' ? secret : undefined;
      const paged = PagedFrame.open(path, { key, maxPages: 1e9 });
      // Some of them again, some twice in the batch, in batches that share pages.
      for (const batch of [keysFrom(29_990, 40), [...keysFrom(40_000, 20), ...keysFrom(40_000, 20)], []]) {
        expect(paged.addMany(batch)).toBe(filter.addMany(batch));
      }
      const wanted = filter.encode();
      expect(Buffer.compare(paged.load(), wanted)).toBe(0);
      expect(Buffer.compare(readFileSync(path), wanted), 'nothing is written before commit').not.toBe(0);
      const { pages } = paged.changes();
      const written = paged.commit();
      paged.close();
      expect(Buffer.compare(readFileSync(path), wanted)).toBe(0);
      // Each page twice; in the journal 64 bytes, 32 of a hash, and the number of each page.
      const pageBytes = pages.reduce((sum, { contents }) => sum + contents.length, 0);
      expect(written).toBe(2 * pageBytes + 4 * pages.length + 64 + 32 + 4);
      expect(paged.pagesChanged).toBe(pages.length);
      expect(traces('paged.blm')).toEqual([]);
    });
  }

  test('too many pages are refused before anything is changed', () => {
    const filter = new BloomFilter({ bits: 3_000_017, hashes: 7 });
    writeFileSync(at('few.blm'), filter.encode());
    const paged = PagedFrame.open(at('few.blm'), { maxPages: 10 });
    expect(paged.addMany(['a'])).toBe(1);
    expect(paged.addMany(keysFrom(0, 100))).toBeUndefined();
    expect(paged.addMany(['a'])).toBe(0);
    expect(paged.pagesChanged).toBeLessThanOrEqual(7);
    paged.commit();
    paged.close();
    filter.add('a');
    expect(Buffer.compare(readFileSync(at('few.blm')), filter.encode())).toBe(0);
  });

  test('damage elsewhere is neither found nor hidden', () => {
    const filter = new BlockedBloomFilter({ blocks: 3001, hashes: 8 });
    const damaged = filter.encode();
    damaged[100_000] ^= 1;
    writeFileSync(at('damaged.blm'), damaged);
    const paged = PagedFrame.open(at('damaged.blm'), { maxPages: 1e9 });
    paged.addMany(keysFrom(0, 50));
    paged.commit();
    paged.close();
    expect(() => BlockedBloomFilter.decode(readFileSync(at('damaged.blm')))).toThrow(/checksum/);
  });

  test('a file that was replaced, and one of the wrong length, are refused', () => {
    const frame = new BloomFilter({ bits: 100_000, hashes: 3 }).encode();
    writeFileSync(at('replaced.blm'), frame);
    const paged = PagedFrame.open(at('replaced.blm'), { maxPages: 1e9 });
    paged.addMany(['a']);
    unlinkSync(at('replaced.blm'));
    writeFileSync(at('replaced.blm'), frame);
    expect(() => paged.commit()).toThrow(
      /Cannot change .*: expected the file that was opened, but another process replaced it/,
    );
    paged.close();
    writeFileSync(at('replaced.blm'), frame.subarray(0, -1));
    expect(() => PagedFrame.open(at('replaced.blm'), { maxPages: 1e9 })).toThrow(
      'expected 12532 bytes, got 12531',
    );
  });
});

/** A file, what it shall become, and the changes that make it so. */
function change(name: string, filter: BloomFilter, keys: readonly string[]) {
  const path = at(name);
  const before = filter.encode();
  writeFileSync(path, before);
  const paged = PagedFrame.open(path, { maxPages: 1e9 });
  paged.addMany(keys);
  filter.addMany(keys);
  return { path, before, after: filter.encode(), paged };
}

describe('a crash at every step', () => {
  test('leaves the old contents until the journal has its name, and the new ones from then on', async () => {
    const random = new Random(1);
    const seen: string[] = [];
    for (let stop = 1; ; stop++) {
      const { path, before, after, paged } = change(
        'steps.blm',
        new BloomFilter({ bits: 700_003, hashes: 7 }),
        ['a', 'b'],
      );
      const changes = paged.changes();
      const steps = writeSteps(changes);
      let name = '';
      let done = false;
      // Not `for … of`: leaving that would run the clean-up that a crash does not run.
      for (let i = 0; i < stop && !done; i++) {
        const step = steps.next();
        done = step.done === true;
        if (!done) name = step.value as string;
      }
      paged.close();
      if (done) break;
      seen.push(name);
      const committed = seen.includes('journal renamed');
      const torn = readFileSync(path);
      if (committed) {
        // A page that was being written may hold anything.
        for (const { page, contents } of changes.pages) {
          for (let i = 0; i < contents.length; i++)
            if (random.below(2) === 0) torn[4096 * page + i] = random.below(256);
        }
        torn.set(changes.pages[0].contents.subarray(0, 28));
        writeFileSync(path, torn);
      }
      const said = await warningsOf(() => recoverFile(path));
      expect(said, name).toBe(
        committed ? `bloomery: warning: ${path}: finished a change that had been interrupted\n` : '',
      );
      expect(Buffer.compare(readFileSync(path), committed ? after : before), name).toBe(0);
      expect(existsSync(journalName(path)), name).toBe(false);
      // The next writer clears away what is left of a journal that was not finished.
      const next = PagedFrame.open(path, { maxPages: 1e9 });
      next.addMany(['c']);
      next.commit();
      next.close();
      expect(traces('steps.blm'), name).toEqual([]);
    }
    expect(seen.slice(0, 4)).toEqual([
      'journal begun',
      'journal written',
      'journal renamed',
      'directory synced',
    ]);
    expect(seen.slice(-2)).toEqual(['checksum written', 'file synced']);
    expect(seen.length).toBeGreaterThan(4 + 2 + 7);
  });

  test('also when recovering is itself interrupted, as often as that happens', async () => {
    const { path, after, paged } = change('again.blm', new BloomFilter({ bits: 700_003, hashes: 7 }), ['a']);
    const steps = writeSteps(paged.changes());
    while (steps.next().value !== 'directory synced');
    paged.close();
    const journal = readFileSync(journalName(path));
    for (let i = 0; i < 3; i++) {
      writeFileSync(journalName(path), journal);
      await warningsOf(() => recoverFile(path));
      expect(Buffer.compare(readFileSync(path), after)).toBe(0);
    }
  });

  test('a disk that fails after the journal was written: the error says so, and the next use finishes it', async () => {
    const { path, after, paged } = change('fails.blm', new BloomFilter({ bits: 700_003, hashes: 7 }), ['a']);
    const steps = writeSteps(paged.changes());
    while (steps.next().value !== 'directory synced');
    paged.close(); // writing to it is an error now
    expect(() => steps.next()).toThrow(
      /fails.blm: the change is written down beside it but could not be carried out \(EBADF.*\); it will be at the next use/,
    );
    expect(await warningsOf(() => recoverFile(path))).toMatch(/finished a change/);
    expect(Buffer.compare(readFileSync(path), after)).toBe(0);
  });

  test('a checksum that was half written is recognised, a file that was replaced is left alone', async () => {
    const { path, before, after, paged } = change('torn.blm', new BloomFilter({ bits: 70_003, hashes: 7 }), [
      'a',
    ]);
    const steps = writeSteps(paged.changes());
    while (steps.next().value !== 'directory synced');
    paged.close();
    const journal = readFileSync(journalName(path));
    const torn = Uint8Array.from(before);
    torn.set(after.subarray(-2), torn.length - 2);
    writeFileSync(path, torn);
    await warningsOf(() => recoverFile(path));
    expect(Buffer.compare(readFileSync(path), after)).toBe(0);

    const others = [
      new BloomFilter({ bits: 70_003, hashes: 7, seed: 1 }),
      new BloomFilter({ bits: 70_011, hashes: 7 }),
      new BloomFilter({ bits: 70_003, hashes: 7 }),
    ];
    for (const other of others) {
      other.addMany(keysFrom(0, 100));
      writeFileSync(path, other.encode());
      writeFileSync(journalName(path), journal);
      expect(await warningsOf(() => recoverFile(path))).toMatch(
        /removed the journal of a change that belonged to another file; the file is as it was/,
      );
      expect(Buffer.compare(readFileSync(path), other.encode())).toBe(0);
      expect(existsSync(journalName(path))).toBe(false);
    }
    // Each of the three is looked at: the same checksum behind other first bytes, and in a longer
    // file.
    const otherHead = Uint8Array.from(before);
    otherHead[20] ^= 1;
    const longer = Buffer.concat([before, before.subarray(-4)]);
    for (const other of [otherHead, longer]) {
      writeFileSync(path, other);
      writeFileSync(journalName(path), journal);
      expect(await warningsOf(() => recoverFile(path))).toMatch(
        /belonged to another file; the file is as it was/,
      );
      expect(Buffer.compare(readFileSync(path), other)).toBe(0);
    }
  });
});

describe('torn journals', () => {
  /** A small file, so that every byte of its journal can be tried. */
  function journalOf(name: string) {
    const { path, before, after, paged } = change(name, new BloomFilter({ bits: 1500, hashes: 3 }), [
      'a',
      'b',
    ]);
    const steps = writeSteps(paged.changes());
    while (steps.next().value !== 'directory synced');
    paged.close();
    writeFileSync(path, before);
    return { path, before, after, journal: readFileSync(journalName(path)) };
  }

  test('every strict prefix is removed, and the file is as it was', async () => {
    const { path, before, after, journal } = journalOf('prefix.blm');
    for (let length = 0; length < journal.length; length++) {
      writeFileSync(journalName(path), journal.subarray(0, length));
      const said = await warningsOf(() => recoverFile(path));
      expect(said).toMatch(/removed the journal of a change that was not begun; the file is as it was/);
      expect(Buffer.compare(readFileSync(path), before), `${length} bytes`).toBe(0);
      expect(existsSync(journalName(path))).toBe(false);
    }
    writeFileSync(journalName(path), journal);
    await warningsOf(() => recoverFile(path));
    expect(Buffer.compare(readFileSync(path), after)).toBe(0);
  });

  test('every flipped byte is seen, and so are bytes behind the end', async () => {
    const { path, before, journal } = journalOf('flipped.blm');
    for (let i = 0; i <= journal.length; i++) {
      const changed = i === journal.length ? Buffer.concat([journal, Buffer.of(0)]) : Buffer.from(journal);
      if (i < journal.length) changed[i] ^= 1 << (i % 8);
      writeFileSync(journalName(path), changed);
      await warningsOf(() => recoverFile(path));
      expect(Buffer.compare(readFileSync(path), before), `byte ${i}`).toBe(0);
    }
  });

  test('the journal lies beside the real file, not beside the link', async () => {
    const { path, before, after, journal } = journalOf('real.blm');
    mkdirSync(at('elsewhere'));
    const link = at('elsewhere/link.blm');
    symlinkSync(path, link);
    unlinkSync(journalName(path));
    writeFileSync(journalName(link), journal);
    expect(await warningsOf(() => recoverFile(link))).toBe('');
    expect(Buffer.compare(readFileSync(path), before)).toBe(0);
    writeFileSync(journalName(path), journal);
    await warningsOf(() => recoverFile(link));
    expect(Buffer.compare(readFileSync(path), after)).toBe(0);
    expect(existsSync(journalName(link))).toBe(true);
  });

  test('a journal that is a link, or that belongs to another user, is not followed', async (context) => {
    const { path, before, journal } = journalOf('stranger.blm');
    unlinkSync(journalName(path));
    writeFileSync(at('planted'), journal);
    symlinkSync(at('planted'), journalName(path));
    expect(await warningsOf(() => recoverFile(path))).toMatch(/belongs to another user and was left alone/);
    expect(Buffer.compare(readFileSync(path), before)).toBe(0);
    unlinkSync(journalName(path));
    if (process.getuid?.() !== 0) context.skip('only root can make a file that belongs to another user');
    writeFileSync(journalName(path), journal);
    chownSync(journalName(path), 12_345, 12_345);
    expect(await warningsOf(() => recoverFile(path))).toMatch(/belongs to another user and was left alone/);
    expect(Buffer.compare(readFileSync(path), before)).toBe(0);
    chownSync(journalName(path), 0, 0);
    expect(await warningsOf(() => recoverFile(path))).toMatch(/finished a change/);
  });

  test('nothing is there: nothing happens', async () => {
    expect(await warningsOf(() => recoverFile(at('no such file')))).toBe('');
    writeFileSync(at('plain.txt'), 'no filter');
    expect(await warningsOf(() => recoverFile(at('plain.txt')))).toBe('');
    expect(traces('plain.txt')).toEqual([]);
  });
});

describe('the lock', () => {
  const take = (name: string, waitMs = 0) => lockFile(at(name), { waitMs });
  const startOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')[19];

  test('is had by one at a time, and is free again when released', async () => {
    const lock = await take('a');
    await expect(take('a')).rejects.toThrow(
      `${at('a')} is being changed by process ${process.pid} and was not free within 0 s; nothing was changed`,
    );
    (await take('b')).release();
    lock.release();
    lock.release();
    (await take('a')).release();
    expect(traces('a')).toEqual([]);
  });

  test('of a process that is gone, of a zombie and of an earlier process of the same number is stale', async () => {
    const gone = Number(execFileSync('sh', ['-c', 'echo $$']).toString());
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 20']);
    try {
      const zombie = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
      await eventually(() => readFileSync(`/proc/${zombie}/stat`, 'latin1').includes(') Z '));
      for (const holder of [
        `${gone} ? ${hostname()} 01234567`,
        `${zombie} ${startOf(zombie)} ${hostname()} 01234567`,
        `${process.pid} 1 ${hostname()} 01234567`,
      ]) {
        symlinkSync(holder, lockName(at('stale')));
        (await take('stale')).release();
        // A process died while removing it.
        symlinkSync(holder, lockName(at('stale')));
        symlinkSync(holder, `${lockName(at('stale'))}-stale`);
        (await take('stale')).release();
        expect(traces('stale')).toEqual([]);
      }
      // A file, where links are not possible.
      writeFileSync(lockName(at('stale')), `${gone} ? ${hostname()} 01234567`);
      (await take('stale')).release();
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('of a living process, of another host or container and of an unknown kind is respected', async () => {
    // No process here has that number, but a process in another namespace may have it.
    const gone = 2 ** 22 + 1;
    const holders = {
      [`${process.pid} ${startOf(process.pid)} ${hostname()} 01234567`]: `process ${process.pid} and`,
      [`1 ? ${hostname()} 01234567`]: 'process 1 and',
      '77 5 far.example 01234567': `process 77 on far.example and was not free within 0.05 s; nothing was changed, try again later or with a longer --wait; if that one is gone, remove ${lockName(at('held'))}`,
      [`${gone} ? ${hostname()}/1 01234567`]: `process ${gone} of another container and was not free`,
      'something else': 'another process and',
    };
    for (const [holder, message] of Object.entries(holders)) {
      symlinkSync(holder, lockName(at('held')));
      const start = performance.now();
      await expect(take('held', 50)).rejects.toThrow(message);
      expect(performance.now() - start).toBeGreaterThanOrEqual(49);
      unlinkSync(lockName(at('held')));
    }
  });
});

describe('readers beside a writer', () => {
  test('a reader waits for a writer that is writing its pages, and only then', async () => {
    const { path, paged } = change('waits.blm', new BloomFilter({ bits: 70_003, hashes: 7 }), ['a']);
    const lock = await lockFile(path, { waitMs: 0 });
    // A lock alone does not stop a reader.
    expect((await readSettled(path)).length).toBe(paged.layout.length);
    const steps = writeSteps(paged.changes());
    while (steps.next().value !== 'directory synced');
    await expect(recoverFile(path, { waitMs: 30 })).rejects.toThrow(
      /is being changed by process \d+ and was not free within 0.03 s/,
    );
    while (!steps.next().done);
    await recoverFile(path, { waitMs: 0 });
    lock.release();
    paged.close();
  });

  test('what is read is always the old or the new filter, while a writer changes it all the time', async () => {
    const path = at('busy.blm');
    const filter = new BloomFilter({ bits: 8 * 300_000, hashes: 7 });
    writeFileSync(path, filter.encode());
    const module = at('writing.mjs');
    buildSync({
      stdin: {
        contents:
          "export { PagedFrame } from '@bloomery/files'; export { lockFile } from './recovered-file.ts';",
        resolveDir: fileURLToPath(new URL('../../src/in-place', import.meta.url)),
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: module,
    });
    const script = `
      const { PagedFrame, lockFile } = await import(${JSON.stringify(pathToFileURL(module).href)});
      console.log('started');
      for (let i = 0; ; i++) {
        const lock = await lockFile(${JSON.stringify(path)}, { waitMs: 10_000 });
        const paged = PagedFrame.open(${JSON.stringify(path)}, { maxPages: 1e9 });
        paged.addMany(['one ' + i, 'two ' + i]);
        paged.commit();
        paged.close();
        lock.release();
      }`;
    const writer = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await new Promise((resolve) => writer.stdout!.once('data', resolve));
      const sizes = new Set<number>();
      const end = performance.now() + 2500;
      while (performance.now() < end) {
        const read = BloomFilter.decode(await readSettled(path)); // throws if it is torn
        sizes.add(read.onesCount());
      }
      expect(sizes.size).toBeGreaterThan(3);
    } finally {
      writer.kill('SIGKILL');
      await new Promise((resolve) => writer.once('close', resolve));
    }
    await warningsOf(() => recoverFile(path));
    const read = BloomFilter.decode(await readSettled(path));
    expect(read.has('one 0') && read.has('two 0')).toBe(true);
  });

  /** Reads a file of which the first half is read before `work` and the second half after it. */
  function readAround(path: string, work: () => void): Promise<Uint8Array> {
    const { readSync } = fs;
    const half = (descriptor: number, bytes: Uint8Array, ...[at, length, position]: number[]) => {
      fs.readSync = readSync;
      syncBuiltinESMExports();
      const read = readSync(descriptor, bytes, at, length >> 1, position);
      work();
      return read;
    };
    fs.readSync = half as unknown as typeof readSync;
    syncBuiltinESMExports();
    return readSettled(path);
  }

  test('a reader that a change overtakes reads again, and never a mixture', async () => {
    const empty = () => new BloomFilter({ bits: 700_003, hashes: 7 });
    const whole = change('overtaken.blm', empty(), keysFrom(0, 100));
    // All of it while the reader reads: seen by the time of the last change.
    const read = await readAround(whole.path, () => {
      writePages(whole.paged.changes());
      utimesSync(whole.path, 1, 1);
    });
    expect(Buffer.compare(read, whole.after)).toBe(0);
    whole.paged.close();
    // A part of it, at the same time by the clock: seen by the journal, which is then carried out.
    const part = change('half-way.blm', empty(), keysFrom(0, 100));
    utimesSync(part.path, 1, 1);
    let settled = new Uint8Array();
    const warnings = await warningsOf(async () => {
      settled = Uint8Array.from(
        await readAround(part.path, () => {
          const steps = writeSteps(part.paged.changes());
          while (!String(steps.next().value).startsWith('page'));
          utimesSync(part.path, 1, 1);
        }),
      );
    });
    expect(warnings).toMatch(/finished a change that had been interrupted/);
    expect(Buffer.compare(settled, part.after)).toBe(0);
    part.paged.close();
  });

  test('pipes and other things that are no files are read as they are', async () => {
    writeFileSync(at('some.txt'), 'abc');
    expect(Buffer.from(await readSettled(at('some.txt'))).toString()).toBe('abc');
    expect((await readSettled('/dev/null')).length).toBe(0);
    await expect(readSettled(at('nothing here'))).rejects.toThrow(/ENOENT/);
  });
});

describe('where the file has holes', () => {
  test('they are filled before the journal has its name', () => {
    const { path, after, paged } = change('holes.blm', new BloomFilter({ bits: 8 * 10_000_000, hashes: 7 }), [
      'a',
    ]);
    copyFileSync(path, at('dense.blm'));
    execFileSync('fallocate', ['--dig-holes', path]);
    expect(statSync(path).blocks * 512).toBeLessThan(statSync(path).size);
    const steps = writeSteps(paged.changes());
    expect(steps.next().value).toBe('holes filled');
    while (!steps.next().done);
    paged.close();
    expect(Buffer.compare(readFileSync(path), after)).toBe(0);
    const dense = PagedFrame.open(at('dense.blm'), { maxPages: 1e9 });
    dense.addMany(['a']);
    writePages(dense.changes());
    dense.close();
    expect(Buffer.compare(readFileSync(at('dense.blm')), after)).toBe(0);
  });
});
