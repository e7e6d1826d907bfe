/**
 * Many entries: the start reads no heads, and the heap does not know of them. Few in CI, a million
 * in the full form.
 */

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EFFORT } from '@bloomery/testkit/effort';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';

const ENTRIES = EFFORT > 1 ? 1_000_000 : 20_000;
const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** `fill`: stores the entries and is killed. `open`: says what the start took. */
const CHILD = `
import { existsSync, readFileSync } from 'node:fs';
import { DiskStore } from './disk-store.ts';
import { storedResponse } from '../../../test/store/stored-responses.ts';
const [what, folder, countText] = process.argv.slice(2);
const count = Number(countText);
const name = (i) => 'http://host.example/some/path/' + i;
const heap = () => { globalThis.gc(); return process.memoryUsage().heapUsed; };
const heapBefore = heap();
// Bytes that system calls have read, page cache or not; null where there is no /proc.
const bytesRead = () => existsSync('/proc/self/io') ? Number(/^rchar: (\\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))[1]) : null;
const readBefore = bytesRead();
const store = await DiskStore.open({ folder, capacityBytes: 20e9 });
const openBytes = readBefore === null ? 0 : bytesRead() - readBefore;
if (what === 'fill') {
  let next = 0;
  const body = new Uint8Array(300);
  const lane = async () => {
    while (next < count) {
      const key = name(next++);
      const writer = store.create(key, 300);
      writer.write(body);
      await writer.commit(storedResponse({ key, bodyLength: 300, time: 1 }));
    }
  };
  await Promise.all(Array.from({ length: 64 }, lane));
  process.send({}, () => process.kill(process.pid, 'SIGKILL'));
} else {
  const heapBytes = heap() - heapBefore;
  let found = 0;
  for (let i = 0; i < count; i += Math.ceil(count / 500)) {
    const [response] = await store.find(name(i));
    if (response !== undefined && response.key === name(i) && store.bodyInMemory(response).length === 300) found++;
  }
  const { statistics: { responses }, indexBytes } = store;
  await store.close();
  process.send({ openBytes, heapBytes, found, responses, indexBytes });
}
`;

test(`${ENTRIES} entries: after a kill and after a clean end`, { timeout: 600_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-scale-'));
  try {
    const script = join(directory, 'child.mjs');
    buildSync({
      stdin: { contents: CHILD, resolveDir: FOLDER, loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      // Vitest is what the helpers of the tests bring along; the child asserts nothing.
      alias: { vitest: 'node:assert' },
      outfile: script,
    });
    const run = (what: string) =>
      new Promise<Record<string, number>>((resolve, reject) => {
        const child = fork(script, [what, join(directory, 'store'), String(ENTRIES)], {
          execArgv: ['--expose-gc'],
        });
        let said: Record<string, number> | undefined;
        child.once('message', (message) => {
          said = message as Record<string, number>;
        });
        child.once('exit', (code, signal) =>
          said ? resolve(said) : reject(new Error(`${what}: ${code} ${signal}`)),
        );
      });
    await run('fill');
    for (const after of ['a kill', 'a clean end']) {
      const { openBytes, heapBytes, found, responses, indexBytes } = await run('open');
      expect(responses, after).toBe(ENTRIES);
      expect(found).toBe(500);
      // 36 bytes for each entry: the index. A start that also reads the heads reads 725.
      expect(openBytes).toBeLessThan(ENTRIES * 100);
      // Not a million objects. What is left is the code.
      expect(heapBytes).toBeLessThan(4e6);
      expect(indexBytes).toBeLessThan(ENTRIES * 100);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
