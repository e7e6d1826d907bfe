// The quality of Forge64 in SMHasher3 (fwojcik/smhasher3), in a checkout of it that was built as
// its README says, with tools/smhasher/forge64.cpp among its hashes (docs/notes/hash.md has the
// steps):
//
//     npm run smhasher -- --checkout DIR [--hash Forge64,XXH-64] [--threads 2] [--extra] [--write]
//
// Runs every group of the suite's set "All" that judges a hash; speed is measured in bench/. Each
// group is one run of the built program, whose output stays in a file, so an interrupted run
// continues where it was: in build/bloomery of the checkout, or in --output DIR. `--only-read` runs
// nothing. All groups take about an hour on two cores; with `--extra`, the suite's extended sets of
// keys, several times as long. `--write` writes bench/results/smhasher.md. No part of the suite is
// in this repository, and nothing here builds it.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { pageOf, readOutput } from './smhasher/read-output.mjs';

const SOURCE = fileURLToPath(new URL('./smhasher/forge64.cpp', import.meta.url));
const PAGE = fileURLToPath(new URL('../bench/results/smhasher.md', import.meta.url));
// Short groups first.
const GROUPS = [
  'Sanity',
  'Zeroes',
  'Cyclic',
  'Permutation',
  'Text',
  'TwoBytes',
  'SeedBlockLen',
  'SeedBlockOffset',
  'SeedZeroes',
  'SeedSparse',
  'Seed',
  'SeedAvalanche',
  'SeedBIC',
  'SeedBitflip',
  'Avalanche',
  'BIC',
  'Bitflip',
  'Sparse',
  'PerlinNoise',
];

const { values } = parseArgs({
  options: {
    checkout: { type: 'string' },
    hash: { type: 'string', default: 'Forge64' },
    threads: { type: 'string', default: '2' },
    output: { type: 'string' },
    extra: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    'only-read': { type: 'boolean', default: false },
  },
});
const checkout = resolve(values.checkout ?? fail('--checkout DIR is missing: a checkout of SMHasher3'));
const program = join(checkout, 'build', 'SMHasher3');
const output = resolve(values.output ?? join(checkout, 'build', 'bloomery'));
const names = values.hash.split(',');
checkBuild();

/** @type {Record<string, Record<string, import('./smhasher/read-output.mjs').Outcome | null>>} */
const outcomes = {};
for (const hash of names)
  outcomes[hash] = Object.fromEntries(GROUPS.map((group) => [group, run(hash, group)]));
const page = pageOf(about(), GROUPS, outcomes);
console.log(page);
if (values.write) writeFileSync(PAGE, page);
const all = Object.values(outcomes.Forge64 ?? {});
process.exit(all.every((outcome) => outcome !== null && outcome.failed.length === 0) ? 0 : 1);

/** Ends the program unless the suite is built, with our hash as it is here. */
function checkBuild() {
  if (!existsSync(program)) fail(`${program} is missing: build the suite as its README says`);
  const ours = join(checkout, 'hashes', 'forge64.cpp');
  if (!existsSync(ours) || readFileSync(ours, 'utf8') !== readFileSync(SOURCE, 'utf8'))
    fail(`${ours} is not ${SOURCE}: copy it, add it to hashes/Hashsrc.cmake, and build again`);
  const list = execFileSync(program, ['--listnames'], { encoding: 'utf8' }).split('\n');
  for (const name of names) {
    if (!list.some((line) => line.trim() === name))
      fail(`${program} has no hash ${name}: build the suite again`);
  }
}

/**
 * The outcome of a group, from its file or from a run now. Null if it did not come to its end.
 * @param {string} hash
 * @param {string} group
 */
function run(hash, group) {
  const folder = join(output, values.extra ? `${hash}-extra` : hash);
  const path = join(folder, `${group}.txt`);
  const known = existsSync(path) ? readOutput(readFileSync(path, 'utf8')) : null;
  if (known !== null || values['only-read']) return known;
  mkdirSync(folder, { recursive: true });
  console.error(`${hash}: ${group}`);
  const part = openSync(`${path}.part`, 'w');
  const options = [hash, `--test=${group}`, `--ncpu=${values.threads}`, '--time-tests'];
  if (values.extra) options.push('--extra');
  spawnSync(program, options, { stdio: ['ignore', part, part] });
  renameSync(`${path}.part`, path);
  return readOutput(readFileSync(path, 'utf8'));
}

function about() {
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  const commit = execFileSync('git', ['-C', checkout, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const seconds = names
    .flatMap((name) => Object.values(outcomes[name]))
    .reduce((sum, one) => sum + (one?.seconds ?? 0), 0);
  return [
    'Written by `npm run smhasher -- --write`; [the note on the hash](../../docs/notes/hash.md) says how to repeat it.',
    `${version}, commit ${commit}. ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${new Date().toISOString().slice(0, 10)}, ${Math.round(seconds / 60)} minutes on ${values.threads} threads of a busy machine.`,
    `The ${values.extra ? 'extended (`--extra`)' : 'default'} sets of keys of every group in the suite's "All" that judges a hash. A cell counts the tests of a group; failures are named as the suite names them.`,
  ];
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message);
  process.exit(2);
}
