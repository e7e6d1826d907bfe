// Changes a layer over a SQLite file, merges it now and then, and kills itself with SIGKILL in the
// middle of the file operation whose number it is given: before it, after it, or in the middle of a
// write. Each line on standard output is `issue KEY NUMBER`, `ack KEY NUMBER`, `merge`, `merged` or
// `stale KEY …`. A number below zero is a deletion.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'libsql';

const [folder, path, killAt, first, seed] = process.argv.slice(2);
const say = fs.writeSync.bind(fs);
let operations = 0;

/** Ends this process if its turn has come. */
function die() {
  if (operations === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

/** @param {string} name */
function hook(name) {
  const files = /** @type {Record<string, (...parts: any[]) => any>} */ (/** @type {unknown} */ (fs));
  const real = files[name];
  files[name] = (...parts) => {
    operations++;
    // Odd ones die before the operation, the others after it.
    if (operations % 2 === 1) die();
    const result = real(...parts);
    die();
    return result;
  };
}
for (const name of [
  'writeSync',
  'fsyncSync',
  'renameSync',
  'unlinkSync',
  'openSync',
  'closeSync',
  'linkSync',
])
  hook(name);
syncBuiltinESMExports();

const probe = await fs.promises.open(path);
const handles = Object.getPrototypeOf(probe);
await probe.close();
for (const name of ['write', 'datasync', 'truncate', 'sync']) {
  const real = handles[name];
  handles[name] = async function (...parts) {
    operations++;
    if (name === 'write' && operations === Number(killAt)) {
      // A write that the crash cut: some of its bytes are there.
      const [bytes, at, length, position] = parts;
      await real.call(this, bytes, at, Math.floor(length * ((Number(seed) % 97) / 97)), position);
    }
    if (operations % 2 === 1) die();
    const result = await real.apply(this, parts);
    die();
    return result;
  };
}

const { layered, sqliteBase, textValues } = await import('@bloomery/stores/layered');
const base = sqliteBase({ path, Database, table: 'records', values: textValues });
const layer = await layered(base, folder, { values: textValues, torn: () => {}, expectedChanges: 8 });
let state = Number(seed) >>> 0;
const below = (/** @type {number} */ end) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * end);
};
/** @type {Promise<unknown>} */
let merge = Promise.resolve();
for (let number = Number(first); number < Number(first) + 100_000; number++) {
  const keys = Array.from({ length: 1 + below(3) }, () => `key${below(60)}`);
  const batch = keys.map((key) => (below(4) === 0 ? { key, deleted: true } : { key, value: `${number}` }));
  const lines = batch.map(({ key, deleted }) => `${key} ${deleted ? -number : number}\n`);
  say(1, lines.map((line) => `issue ${line}`).join(''));
  await layer.batch(batch);
  say(1, lines.map((line) => `ack ${line}`).join(''));
  const last = batch[batch.length - 1];
  const found = await layer.get(last.key);
  if (found !== (last.deleted ? undefined : last.value)) say(1, `stale ${last.key} ${found}\n`);
  if (below(6) === 0) {
    await merge;
    say(1, 'merge\n');
    merge = layer.merge().then(() => say(1, 'merged\n'));
  }
}
