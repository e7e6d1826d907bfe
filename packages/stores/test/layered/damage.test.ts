/** Logs that were cut, damaged, taken apart or put over another base, and disks that are full. */

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import Database from 'libsql';
import { afterAll, describe, expect, test } from 'vitest';
import { httpBase } from '../../src/layered/bases/http-base.ts';
import { LayerError } from '../../src/layered/layer-error.ts';
import { layered } from '../../src/layered/layered.ts';
import { ENTRY_HEAD, SEGMENT_HEAD } from '../../src/layered/log/log-bytes.ts';
import type { TornEnd } from '../../src/layered/log/segment-file.ts';
import { textValues } from '../../src/layered/values.ts';
import { createSqlite, expectLayerError, openSqlite, scratchFolder } from './layer-scratch.ts';

const scratch = scratchFolder();
const FIRST = 'changes-0000000000000000.log';
const texts = { values: textValues };
const base = new Map([['a', 'base']]);

/** A log with four entries, one of them a batch, and the offsets at which they end. */
async function writeLog(name: string): Promise<{ folder: string; bytes: Buffer; ends: number[] }> {
  const folder = join(scratch, name);
  const layer = await layered(base, folder, texts);
  const ends = [SEGMENT_HEAD];
  const note = () => ends.push(statSync(join(folder, FIRST)).size);
  await layer.set('a', 'one');
  note();
  await layer.batch([
    { key: 'a', value: 'two' },
    { key: 'b', value: 'two' },
  ]);
  note();
  await layer.delete('a');
  note();
  await layer.set('b', 'four');
  note();
  await layer.close();
  return { folder, bytes: readFileSync(join(folder, FIRST)), ends };
}

/** The values of a and b after none, one, two, three and four entries. */
const STATES = [
  ['base', undefined],
  ['one', undefined],
  ['two', 'two'],
  [undefined, 'two'],
  [undefined, 'four'],
];

async function readBoth(folder: string): Promise<(string | undefined)[]> {
  const layer = await layered(base, folder, { ...texts, readOnly: true });
  const found = [await layer.get('a'), await layer.get('b')];
  await layer.close();
  return found;
}

describe('a damaged log', () => {
  test('every prefix holds the entries that are whole in it', async () => {
    const { folder, bytes, ends } = await writeLog('prefixes');
    for (let size = SEGMENT_HEAD; size <= bytes.length; size++) {
      writeFileSync(join(folder, FIRST), bytes.subarray(0, size));
      const whole = ends.filter((end) => end <= size).length - 1;
      expect(await readBoth(folder), `${size} bytes`).toEqual(STATES[whole]);
    }
    for (let size = 0; size < SEGMENT_HEAD; size++) {
      writeFileSync(join(folder, FIRST), bytes.subarray(0, size));
      await expectLayerError(readBoth(folder), 'format', /expected a log of changes/);
    }
  });

  test('every flipped bit is found: an error with the offset, or a cut of the last entry', async () => {
    const { folder, bytes, ends } = await writeLog('flips');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] ^= 1 << (bit & 7);
      writeFileSync(join(folder, FIRST), flipped);
      const entry = ends.findIndex((end) => bit >> 3 < end);
      if (entry === 4) expect(await readBoth(folder), `bit ${bit}`).toEqual(STATES[3]);
      else {
        const error = await readBoth(folder).then(
          () => undefined,
          (reason: unknown) => reason as LayerError,
        );
        const code = bit < 64 ? 'format' : 'damaged';
        expect([error?.code, error?.offset], `bit ${bit}`).toEqual([
          code,
          bit < 64 ? undefined : entry === 0 ? 0 : ends[entry - 1],
        ]);
      }
    }
  });

  test('random bytes in the middle and at the end never become a record', async () => {
    const { folder, bytes, ends } = await writeLog('random');
    const random = new Random(3);
    for (let round = 0; round < 300; round++) {
      const from = SEGMENT_HEAD + random.below(bytes.length - SEGMENT_HEAD);
      const noise = random.bytes(1 + random.below(200));
      const mixed = Buffer.concat([bytes.subarray(0, from), noise, bytes.subarray(from)]);
      writeFileSync(join(folder, FIRST), mixed);
      const whole = ends.filter((end) => end <= from).length - 1;
      const found = await readBoth(folder).catch((error: LayerError) => error.code);
      // Entries behind the noise are at another place than they say, so they prove nothing.
      expect([STATES[whole], 'damaged'], `round ${round}`).toContainEqual(found);
    }
  });

  test('a torn end is cut, and said once', async () => {
    const { folder, bytes, ends } = await writeLog('torn');
    const torn: TornEnd[] = [];
    const open = () => layered(base, folder, { ...texts, torn: (end) => torn.push(end) });
    truncateSync(join(folder, FIRST), bytes.length - 1);
    const layer = await open();
    expect(torn).toEqual([{ path: join(folder, FIRST), offset: ends[3], bytes: bytes.length - 1 - ends[3] }]);
    expect(statSync(join(folder, FIRST)).size).toBe(ends[3]);
    await layer.set('b', 'again');
    await layer.close();
    const next = await open();
    expect([torn.length, await next.get('b')]).toEqual([1, 'again']);
    await next.close();
  });

  test('a group that was not on the disk is cut, even if its second half arrived', async () => {
    const folder = join(scratch, 'group');
    const layer = await layered(base, folder, texts);
    await layer.set('a', 'kept');
    const end = statSync(join(folder, FIRST)).size;
    // Made together, so they go into one write. A power failure can lose its first page alone.
    await Promise.all(['x', 'y', 'z'].map((key) => layer.set(key, 'v'.repeat(300))));
    await layer.close();
    const bytes = readFileSync(join(folder, FIRST));
    bytes.fill(0, end, end + ENTRY_HEAD + 100);
    writeFileSync(join(folder, FIRST), bytes);
    const torn: TornEnd[] = [];
    const again = await layered(base, folder, { ...texts, torn: (found) => torn.push(found) });
    expect(torn.map(({ offset }) => offset)).toEqual([end]);
    expect([await again.get('a'), await again.get('z')]).toEqual(['kept', undefined]);
    await again.close();
  });

  test('files that are missing or from elsewhere are refused', async () => {
    const { folder, bytes } = await writeLog('missing');
    const other = await writeLog('other');
    const manifest = readFileSync(join(folder, 'layer.json'));
    const open = () => layered(base, folder, texts);

    writeFileSync(join(folder, FIRST), other.bytes);
    await expectLayerError(open(), 'format', /expected position 0 of the log \w+, got position 0 of/);
    rmSync(join(folder, FIRST));
    await expectLayerError(open(), 'damaged', /expected a log from position 0 on, got no segment/);
    writeFileSync(join(folder, FIRST), bytes);
    rmSync(join(folder, 'layer.json'));
    await expectLayerError(open(), 'damaged', /expected layer\.json beside/);
    writeFileSync(join(folder, 'layer.json'), '{}');
    await expectLayerError(open(), 'format', /expected the manifest of a layer/);
    writeFileSync(join(folder, 'layer.json'), String(manifest).replace('"version": 1', '"version": 2'));
    await expectLayerError(open(), 'format', /expected version 1, got 2/);
    writeFileSync(join(folder, 'layer.json'), manifest);
    const layer = await open();
    expect(await layer.get('b')).toBe('four');
    await layer.close();
  });
});

describe('a base', () => {
  test('another base, and one that another program has changed, are refused', async () => {
    const place = join(scratch, 'base.sqlite');
    const folder = join(scratch, 'over-base');
    createSqlite(place, 10);
    const layer = await layered(openSqlite(place), folder, texts);
    await layer.set('key1', 'new');
    await layer.close();
    const second = join(scratch, 'second.sqlite');
    createSqlite(second, 11);
    await expectLayerError(
      layered(openSqlite(second), folder, texts),
      'other-base',
      /belong to another base/,
    );
    await expectLayerError(layered(base, folder, texts), 'other-base', /one without an identity/);
    const copy = join(scratch, 'copy.sqlite');
    cpSync(place, copy);
    const moved = await layered(openSqlite(copy), folder, texts);
    expect(await moved.get('key1')).toBe('new');
    await moved.close();
    const program = new Database(copy);
    program.exec("update records set value = 'by another program' where key = 'key2'");
    program.close();
    await expectLayerError(
      layered(openSqlite(copy), folder, texts),
      'other-base',
      /another program changed it/,
    );
  });

  test('bases that are away, or no bases, are one clear line', async () => {
    expect(() => openSqlite(join(scratch, 'none.sqlite'))).toThrow(/expected a file, got none/);
    writeFileSync(
      join(scratch, 'text.sqlite'),
      'no database at all, but long enough to be read as one'.repeat(20),
    );
    expect(() => openSqlite(join(scratch, 'text.sqlite'))).toThrow(LayerError);

    const server = createServer((request, response) => {
      response.statusCode = request.url === '/slow' ? 500 : 404;
      response.end('no');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/{key}`;
    const layer = await layered(httpBase({ url, values: textValues }), join(scratch, 'http'), texts);
    await layer.set('b', 'mine');
    expect(await layer.get('a')).toBeUndefined();
    await expectLayerError(layer.get('slow'), 'base', /expected status 200 or 404, got 500/);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expectLayerError(
      layer.get('a'),
      'base',
      /expected an answer, got (ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET)/,
    );
    expect(await layer.get('b'), 'changes are read without the base').toBe('mine');
    await expectLayerError(layer.merge(), 'unable', /expected a base that can be replaced/);
    await layer.close();
  });
});

test('one process changes a layer at a time, and others read beside it', async () => {
  const folder = join(scratch, 'two');
  const writer = await layered(base, folder, texts);
  await writer.set('a', 'first');
  await expect(layered(base, folder, texts)).rejects.toMatchObject({ code: 'held' });
  const reader = await layered(base, folder, { ...texts, readOnly: true });
  await writer.set('a', 'second');
  expect([await reader.get('a'), await writer.get('a')]).toEqual(['first', 'second']);
  await expectLayerError(reader.set('a', 'x'), 'closed', /opened with readOnly/);
  await reader.close();
  await writer.close();
  const next = await layered(base, folder, texts);
  await next.close();
  expect(readdirSync(folder).sort()).toEqual([FIRST, 'layer.json']);
});

describe('a full disk', () => {
  const disk = join(scratch, 'disk');
  mkdirSync(disk);
  // libsql closes its files when the garbage collector runs.
  const unmount = () => execFileSync('umount', ['--lazy', disk], { stdio: 'ignore' });
  afterAll(() => {
    try {
      unmount();
    } catch {
      // it was not mounted
    }
  });

  test('refuses changes and merges, loses nothing, and goes on when there is room', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk], { stdio: 'pipe' });
    const place = join(disk, 'base.sqlite');
    createSqlite(place, 1000);
    const layer = await layered(openSqlite(place), join(disk, 'changes'), texts);
    const model = new Map<string, string>();
    const large = 'x'.repeat(20_000);
    let refused = 0;
    for (let i = 0; i < 200 && refused < 3; i++) {
      const value = `${i}${large}`;
      await layer.set(`key${i}`, value).then(
        () => model.set(`key${i}`, value),
        (error: NodeJS.ErrnoException) => {
          expect(error.code).toBe('ENOSPC');
          refused++;
        },
      );
    }
    expect(refused).toBe(3);
    const check = async (records: typeof layer) => {
      for (const [key, value] of model) expect(await records.get(key)).toBe(value);
      expect(await records.get('key999')).toBe('base999');
    };
    await check(layer);
    const before = readFileSync(place);
    await expect(layer.merge()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(readFileSync(place).equals(before), 'the base is as it was').toBe(true);
    expect(readdirSync(disk).filter((name) => name.endsWith('bloomery-tmp'))).toEqual([]);
    await check(layer);
    execFileSync('mount', ['-o', 'remount,size=16m', disk]);
    await layer.set('key0', 'room');
    model.set('key0', 'room');
    await layer.merge();
    expect(layer.stats().changedKeys).toBe(0);
    await check(layer);
    await layer.close();
    const again = await layered(openSqlite(place), join(disk, 'changes'), texts);
    await check(again);
    await again.close();
  });
});
