/** `npm run bench`: reads the options, makes the keys, measures each key set, prints the tables. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileForNode, compileNative, NATIVE_FLAGS } from './compile.ts';
import { measureSection, type Plan } from './interleave.ts';
import { KEY_KINDS, type KeyFiles, type KeyKind, writeKeys } from './keys.ts';
import type { KeySet } from './lane.ts';
import { asMarkdown, asText, machineLines, tables } from './report.ts';
import { type Results, type Section, sizeName } from './results.ts';

const HELP = `npm run bench -- [options]

  --quick            10 k and 1 M keys, fewer rounds and rows: about a minute
  --only PATTERN     only rows whose name (such as "bloomery blocked packed") matches; ${'`bloomfilter`'} always runs
  --sizes LIST       numbers of keys, such as 10000,1000000
  --keys LIST        kinds of keys: ${Object.keys(KEY_KINDS).join(', ')}
  --rounds N         how often everything is measured
  --json FILE        write every single measurement
  --markdown FILE    write the tables
  --help

The full form measures 10 k, 1 M and 10 M keys, and 50 M where memory allows: a quarter of an hour.`;

/** Held-out keys: enough that a rate of 1 % is known to within 0.02 percentage points (one sigma). */
const HELD_OUT = 1 << 18;
/** Keys of one timed call, and of one batch. */
const CHUNK = 1 << 13;
const CHUNKS = 32;
const FULL_SETS = { url: [1e4, 1e6, 1e7, 5e7], url50: [1e6], key12: [1e4, 1e6, 1e7] } as const;
const QUICK_SETS = { url: [1e4, 1e6], url50: [], key12: [1e6] } as const;
/** The largest set needs this much: key files in the page cache, and a dozen processes. */
const BYTES_FOR_50M = 10 * 2 ** 30;

const { values: options } = parseArgs({
  options: {
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

if (options.help) {
  console.log(HELP);
} else {
  await main();
}

async function main(): Promise<void> {
  const started = Date.now();
  const progress = (text: string) => {
    process.stderr.write(`[${((Date.now() - started) / 1000).toFixed(0).padStart(4)} s] ${text}\n`);
  };
  const laneProgram = await compileForNode('lane');
  const native = compileNative();
  if ('missing' in native) progress(`NO NATIVE YARDSTICK: ${native.missing}. Everything else is measured.`);
  const plan: Omit<Plan, 'progress'> = {
    rounds: positive('--rounds', options.rounds) ?? (options.quick ? 15 : 31),
    // Short slices and many rounds: this kind of machine has slow seconds, and a round should fit into one.
    sliceMs: options.quick ? 2 : 3,
    warmUpMs: options.quick ? 20 : 40,
    quick: options.quick,
    only: options.only ?? null,
    laneProgram,
    nativeProgram: 'program' in native ? native.program : null,
  };
  const sets = chosenSets();
  const directory = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
  const sections: Section[] = [];
  const exit = () => rmSync(directory, { recursive: true, force: true });
  process.on('exit', exit);
  process.on('SIGINT', () => process.exit(130));
  for (const [kind, sizes] of sets) {
    if (sizes.length === 0) continue;
    progress(`writing ${sizeName(Math.max(...sizes))} ${kind} keys`);
    const stored = writeKeys(directory, kind, Math.max(...sizes), false);
    const heldOut = writeKeys(directory, kind, HELD_OUT, true);
    for (const size of sizes) {
      const name = `${sizeName(size)} ${kind}`;
      const section = await measureSection(keySet(stored, heldOut, size), {
        ...plan,
        progress: (text) => progress(`${name}: ${text}`),
      });
      sections.push(section);
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
      compiler: 'compiler' in native ? `${native.compiler} ${NATIVE_FLAGS.join(' ')}` : native.missing,
      date: new Date().toISOString().slice(0, 10),
    },
    rounds: plan.rounds,
    sliceMs: plan.sliceMs,
    sections,
  };
  const head = machineLines(results);
  console.log(`${head.join('\n')}\n`);
  for (const table of tables(results)) console.log(asText(table));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 1)}\n`);
  if (options.markdown !== undefined) writeFileSync(options.markdown, markdown(results));
  progress('done');
}

function markdown(results: Results): string {
  const [machine, ...legend] = machineLines(results);
  // The targets first: they are what most readers came for.
  const [targets, ...rest] = tables(results).reverse();
  const text = [targets, ...rest.reverse()].map(asMarkdown).join('\n');
  return `# Results\n\nWritten by \`npm run bench\`; see README.md for what is measured and how.\n\n${machine}\n\n${legend.join('\n')}\n\n${text}`;
}

function chosenSets(): [KeyKind, number[]][] {
  const defaults: Record<KeyKind, readonly number[]> = options.quick ? QUICK_SETS : FULL_SETS;
  const sizes = options.sizes?.split(',').map((text) => positive('--sizes', text)!);
  const kinds = (options.keys?.split(',') ?? Object.keys(defaults)) as KeyKind[];
  const unknown = kinds.find((kind) => !(kind in KEY_KINDS));
  if (unknown !== undefined) {
    throw new RangeError(`--keys: expected some of ${Object.keys(KEY_KINDS).join(', ')}, got ${unknown}`);
  }
  return kinds.map((kind) => [
    kind,
    (sizes ?? defaults[kind]).filter(
      (size) => size < 5e7 || sizes !== undefined || freemem() > BYTES_FOR_50M,
    ),
  ]);
}

function keySet(stored: KeyFiles, heldOut: KeyFiles, size: number): KeySet {
  const chunkKeys = Math.min(size, CHUNK);
  // Chunks from all over the set, 262,144 keys together: enough to visit all memory of a filter of 10 M keys.
  const count = size < CHUNKS * CHUNK ? 1 : CHUNKS;
  const starts = Array.from({ length: count }, (_, i) =>
    Math.floor((i * (size - chunkKeys)) / Math.max(1, count - 1)),
  );
  return { stored, heldOut, size, chunkKeys, starts, fillLimit: options.quick ? 1e5 : 1e6 };
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${name}: expected a positive integer, got ${text}`);
  return value;
}
