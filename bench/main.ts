/** `npm run bench`: reads the options, makes the keys, measures each key set, prints the tables. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FILTERS_BENCH } from './filters/filters-bench.ts';
import type { Bench, KeySetPlan } from './shared/bench.ts';
import { compileForNode, compileNative, NATIVE_FLAGS } from './shared/compile.ts';
import { measureSection, type Plan, runTrials } from './shared/interleave.ts';
import { distinctKeys, type KeyFiles, type KeyKind, writeKeys } from './shared/keys.ts';
import type { KeySet } from './shared/lane.ts';
import { asMarkdown, asText, machineLine } from './shared/report.ts';
import { type Results, type Section, sizeName } from './shared/results.ts';
import { STRUCTURES_BENCH } from './structures/structures-bench.ts';

/**
 * Held-out keys: enough that a rate of 1 % is known to within 0.02 percentage points (one sigma).
 */
const HELD_OUT = 1 << 18;
/** Keys of one timed call, and of one batch. */
const CHUNK = 1 << 13;
const CHUNKS = 32;
/** The largest set needs this much: key files in the page cache, and a dozen processes. */
const BYTES_FOR_50M = 10 * 2 ** 30;

const { values: options } = parseArgs({
  options: {
    structures: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    sizes: { type: 'string' },
    keys: { type: 'string' },
    rounds: { type: 'string' },
    json: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const bench = options.structures ? STRUCTURES_BENCH : FILTERS_BENCH;
if (options.help) {
  console.log(help(bench));
} else {
  await main();
}

function help({ command, about, full }: Bench): string {
  const kinds = new Set(full.map(({ kind }) => kind));
  return `${command} -- [options]

  --quick            ${about.quick}
  --only PATTERN     ${about.only}
  --sizes LIST       numbers of keys, such as 10000,1000000
  --keys LIST        kinds of keys: ${[...kinds].join(', ')}
  --rounds N         how often everything is measured
  --json FILE        write every single measurement
  --markdown FILE    write the tables
  --structures       the benchmark of the other structures (npm run bench:structures)
  --help

${about.full}`;
}

async function main(): Promise<void> {
  const started = Date.now();
  const progress = (text: string) => {
    process.stderr.write(`[${((Date.now() - started) / 1000).toFixed(0).padStart(4)} s] ${text}\n`);
  };
  const sets = chosenSets();
  const laneProgram = await compileForNode('lane-process');
  const native = sets.some(({ suite }) => suite.native) ? compileNative() : null;
  if (native !== null && 'missing' in native) {
    progress(`NO NATIVE YARDSTICK: ${native.missing}. Everything else is measured.`);
  }
  const plan: Omit<Plan, 'progress'> = {
    rounds: positive('--rounds', options.rounds) ?? (options.quick ? 15 : 31),
    buildRounds: options.quick ? 3 : 9,
    // Short slices and many rounds: this kind of machine has slow seconds, and a round should fit
    // into one.
    sliceMs: options.quick ? 2 : 3,
    warmUpMs: options.quick ? 20 : 40,
    quick: options.quick,
    only: options.only ?? null,
    laneProgram,
    nativeProgram: native !== null && 'program' in native ? native.program : null,
  };
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
  const sections: Section[] = [];
  const exit = () => rmSync(directory, { recursive: true, force: true });
  process.on('exit', exit);
  process.on('SIGINT', () => process.exit(130));
  for (const kind of new Set(sets.map((set) => set.kind))) {
    const ofKind = sets.filter((set) => set.kind === kind && set.sizes.length > 0);
    if (ofKind.length === 0) continue;
    const most = Math.max(...ofKind.flatMap(({ suite, sizes }) => [...sizes, trialKeys(suite)]));
    progress(`writing ${sizeName(most)} ${kind} keys`);
    const stored = writeKeys(directory, kind, most, false);
    const heldOut = writeKeys(directory, kind, HELD_OUT, true);
    for (const { suite, sizes } of ofKind) {
      for (const size of sizes) {
        const keys = keySet(stored, heldOut, size);
        const name = `${suite.name}, ${sizeName(size)} ${kind}`;
        const planned = { ...plan, progress: (text: string) => progress(`${name}: ${text}`) };
        const section = await measureSection(keys, suite, planned);
        if (section === null) continue;
        sections.push(section);
        if (trialKeys(suite) > 0 && size === sizes[sizes.length - 1]) {
          section.trials.push(...(await runTrials(keys, suite, planned)));
        }
      }
    }
    rmSync(stored.bytes);
  }
  const results: Results = {
    machine: {
      processor: cpus()[0]?.model.trim() ?? 'unknown processor',
      cores: availableParallelism(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      v8: process.versions.v8,
      compiler:
        native === null
          ? null
          : 'compiler' in native
            ? `${native.compiler} ${NATIVE_FLAGS.join(' ')}`
            : native.missing,
      date: new Date().toISOString().slice(0, 10),
    },
    rounds: plan.rounds,
    sliceMs: plan.sliceMs,
    sections,
  };
  const { targets, sections: tables } = bench.tables(results);
  console.log(`${[machineLine(results.machine), ...bench.legend(results)].join('\n')}\n`);
  for (const table of [...tables, targets]) console.log(asText(table));
  if (options.json !== undefined) {
    const json = { ...bench.summary?.(results), ...results };
    writeFileSync(options.json, `${JSON.stringify(json, null, 1)}\n`);
  }
  // The targets first: they are what most readers came for.
  if (options.markdown !== undefined) {
    const text = [targets, ...tables].map(asMarkdown).join('\n');
    writeFileSync(options.markdown, `${markdownHead(results)}\n\n${text}`);
  }
  progress('done');
}

function markdownHead(results: Results): string {
  return [
    `# ${bench.title}`,
    `Written by \`${bench.command}\`; see [README.md](../README.md) for what is measured and how.`,
    machineLine(results.machine),
    bench.legend(results).join('\n'),
  ].join('\n\n');
}

/** Keys that the trials of a suite need; none in the quick form. */
function trialKeys({ trials }: KeySetPlan['suite']): number {
  return trials === undefined || options.quick ? 0 : trials.size * trials.sets;
}

function chosenSets(): KeySetPlan[] {
  const sizes = options.sizes?.split(',').map((text) => positive('--sizes', text)!);
  const known = new Set(bench.full.map(({ kind }) => kind));
  const kinds = options.keys?.split(',') as KeyKind[] | undefined;
  const unknown = kinds?.find((kind) => !known.has(kind));
  if (unknown !== undefined) {
    throw new RangeError(`--keys: expected some of ${[...known].join(', ')}, got ${unknown}`);
  }
  return (options.quick ? bench.quick : bench.full)
    .filter(({ kind }) => kinds === undefined || kinds.includes(kind))
    .map((set) => ({
      ...set,
      sizes: (sizes ?? set.sizes).filter(
        (size) => size < 5e7 || sizes !== undefined || freemem() > BYTES_FOR_50M,
      ),
    }));
}

function keySet(stored: KeyFiles, heldOut: KeyFiles, size: number): KeySet {
  const chunkKeys = Math.min(size, CHUNK);
  // Chunks from all over the set, 262,144 keys together: enough to visit all memory of a filter of
  // 10 M keys.
  const count = size < CHUNKS * CHUNK ? 1 : CHUNKS;
  const starts = Array.from({ length: count }, (_, i) =>
    Math.floor((i * (size - chunkKeys)) / Math.max(1, count - 1)),
  );
  const distinct = distinctKeys(stored.kind, size);
  return { stored, heldOut, size, distinct, chunkKeys, starts, fillLimit: options.quick ? 1e5 : 1e6 };
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${name}: expected a positive integer, got ${text}`);
  return value;
}
