// Feeds every decoder with random and mutated bytes: our own frames and messages, and files of
// other systems. Every result must be a structure or a typed error.
//
//   node tools/fuzz.mjs [rounds per decoder, default 10000000] [name of a decoder] [seed]
//
// The tests do the same with fewer rounds. Memory is printed as well, because it must not grow with
// the rounds.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [rounds = '10000000', only = '', seed = '1'] = process.argv.slice(2);
/** @typedef {{ name: string }} Subject */

/** Rounds without a pause. */
const SLICE = 10_000;
const folder = mkdtempSync(join(tmpdir(), 'bloomery-fuzz-'));
try {
  const { SUBJECTS, fuzzDecoder } = await load('fuzz-subjects.ts');
  const { FRAME_SUBJECTS, fuzzReader } = await load('fuzz-frames.ts');
  const all = [
    ...FRAME_SUBJECTS.map((/** @type {Subject} */ subject) => ({ subject, fuzz: fuzzReader })),
    ...SUBJECTS.map((/** @type {Subject} */ subject) => ({ subject, fuzz: fuzzDecoder })),
  ];
  const chosen = all.filter(({ subject }) => only === '' || subject.name === only);
  if (chosen.length === 0)
    throw new Error(`no decoder ${only}; there are ${all.map(({ subject }) => subject.name).join(', ')}`);
  for (const { subject, fuzz } of chosen) {
    const start = performance.now();
    let [accepted, refused] = [0, 0];
    for (let done = 0, slice = 0; done < Number(rounds); done += SLICE, slice++) {
      const result = fuzz(subject, Math.min(SLICE, Number(rounds) - done), Number(seed) + 1_000_003 * slice);
      accepted += result.accepted;
      refused += result.refused;
      // An object that was read from a WeakRef lives until the current job ends. Without a pause,
      // none of them would be collected.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const seconds = (performance.now() - start) / 1000;
    const megabytes = Math.round(process.memoryUsage().rss / 2 ** 20);
    console.log(
      `${subject.name}: ${accepted} read, ${refused} typed errors, nothing else; ` +
        `${seconds.toFixed(1)} s, ${megabytes} MB resident`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** @param {string} file */
async function load(file) {
  const outfile = join(folder, `${file}.mjs`);
  const entry = fileURLToPath(new URL(`../packages/bloomery/test/${file}`, import.meta.url));
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    keepNames: true,
    outfile,
  });
  return import(pathToFileURL(outfile).href);
}
