/**
 * The lines of `bloomery grep` are those of the real zgrep and zstdgrep: random substrings of the
 * text and random regular expressions, with random flags, on a folder of plain, gzip and zstd
 * files. The search runs in this process. zgrep runs over all needles in one shell; because each of
 * its runs takes several processes, one needle in 25 is given to it, and the others to the grep
 * that it would start, on the unpacked text.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GramScheme, PatternSyntax } from '@bloomery/stores/text';
import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { indexFolder } from '../../src/text/index-folder.ts';
import { type LogServer, serveLogs } from './log-server.ts';
import { randomPattern } from './random-pattern.ts';
import { searchInProcess } from './search-in-process.ts';
import { writeCorpus } from './text-corpus.ts';

/** Small blocks, so that a small folder has many of them. */
const SCHEME: GramScheme = { gram: 5, extra: 8, extraRule: 'run', bitsLog2: 12, limit: 2048 };
/** Questions that one shell asks. */
const BATCH = 1000;
/** Another number gives another corpus and other questions: the long form runs in pieces by it. */
const SEED = Number(process.env.BLOOMERY_ZGREP_SEED ?? 21);

let scratch: string;
let folder: string;
let plain: string;
let texts: Map<string, Buffer>;
let server: LogServer;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'bloomery-zgrep-'));
  folder = join(scratch, 'logs');
  plain = join(scratch, 'plain');
  // Two megabytes in the long form: BLOOMERY_EFFORT=100 asks 100,000 questions, as ten runs with
  // BLOOMERY_EFFORT=10 and ten seeds do.
  texts = writeCorpus(folder, SEED, EFFORT > 1 ? 6000 : 400);
  for (const [name, text] of texts) {
    mkdirSync(join(plain, name, '..'), { recursive: true });
    writeFileSync(join(plain, name), text);
  }
  for (const name of texts.keys()) utimesSync(join(folder, name), 1e9, 1e9);
  await indexFolder(folder, { scheme: SCHEME });
  server = await serveLogs(folder);
});
afterAll(async () => {
  await server.close();
  rmSync(scratch, { recursive: true, force: true });
});

interface Question {
  readonly pattern: Buffer;
  readonly syntax: PatternSyntax;
  readonly flags: readonly string[];
}

/** zgrep does not unpack zstd; these files are the last ones of the corpus. */
const isZstd = (name: string) => name.startsWith('zstd/');

/** Runs all questions in one shell; returns the outputs. */
function askGrep(questions: readonly Question[], names: readonly string[]): string[] {
  const work = join(scratch, 'questions');
  mkdirSync(work, { recursive: true });
  const script = questions.map(({ pattern, syntax, flags }, i) => {
    writeFileSync(join(work, `${i}.pattern`), pattern);
    const letter = { fixed: '-F', basic: '-G', extended: '-E' }[syntax];
    // zgrep starts a grep for each file, and so prints no `--` between the contexts of two files.
    const context = flags.some((flag) => /^-[ABC]/.test(flag));
    const all = ['-a', '-H', letter, ...flags].join(' ');
    const ask = (program: string, of: readonly string[]) =>
      // zstdgrep takes `--` after -e for a file.
      `${program} ${all} -e "$(cat ${work}/${i}.pattern)" ${program === 'zstdgrep' ? '' : '--'} ${of.join(' ')}`;
    const line =
      i % 25 === 0 && !context
        ? `cd ${folder} && { ${ask(
            'zgrep',
            names.filter((name) => !isZstd(name)),
          )}; ${ask('zstdgrep', names.filter(isZstd))}; }`
        : `cd ${plain} && ${ask('grep', names)}`;
    return `${line} > ${work}/${i}.out 2> ${work}/${i}.err`;
  });
  writeFileSync(join(scratch, 'ask.sh'), `${script.join('\n')}\ntrue\n`);
  const { status, stderr } = spawnSync('bash', [join(scratch, 'ask.sh')], {
    env: { ...process.env, LC_ALL: 'C' },
  });
  expect(status, String(stderr)).toBe(0);
  return questions.map((_, i) => {
    const said = readFileSync(join(work, `${i}.err`), 'utf8');
    return `${readFileSync(join(work, `${i}.out`), 'latin1')}${said === '' ? '' : `error: ${said}`}`;
  });
}

function randomFlags(random: Random): string[] {
  const flags: string[] = [];
  for (const flag of ['-i', '-n', '-w']) if (random.below(4) === 0) flags.push(flag);
  if (random.below(12) === 0) flags.push('-v');
  if (random.below(12) === 0) flags.push('-x');
  if (random.below(4) === 0) flags.push(random.pick(['-c', '-l', '-L']));
  else if (random.below(3) === 0) flags.push(`-${random.pick(['A', 'B', 'C'])}${1 + random.below(3)}`);
  return flags;
}

function randomQuestion(random: Random): Question {
  const flags = randomFlags(random);
  if (random.below(2) === 0) {
    const text = random.pick([...texts.values()].filter((one) => one.length > 100));
    for (;;) {
      const start = random.below(text.length);
      const pattern = text.subarray(start, start + 1 + random.below(24));
      // The shell cannot pass a zero byte, and cuts newlines.
      if (pattern.includes(0) || pattern.includes(10)) continue;
      return { pattern: random.below(8) === 0 ? reversed(pattern) : pattern, syntax: 'fixed', flags };
    }
  }
  const syntax = random.pick(['basic', 'extended'] as const);
  return { pattern: Buffer.from(randomPattern(random, syntax === 'extended'), 'latin1'), syntax, flags };
}

function reversed(bytes: Buffer): Buffer {
  return Buffer.from(bytes).reverse();
}

/** The list of the server is in the order of a walk through the folder. */
async function expectSameOnServer(question: Question): Promise<void> {
  const there = await searchInProcess(question, server.url);
  const here = await searchInProcess(question, [folder]);
  expect(there.output.replaceAll(server.url, '')).toBe(here.output.replaceAll(`${folder}/`, ''));
  expect([there.report, there.errors]).toEqual([here.report, []]);
}

test(
  'random needles and regular expressions give the lines of zgrep, byte for byte',
  async () => {
    const random = new Random(SEED + 1);
    const names = [...texts.keys()];
    const paths = names.map((name) => join(folder, name));
    const total = withEffort(1000, 100);
    let skipped = 0;
    let asked = 0;
    for (let done = 0; done < total; done += BATCH) {
      const questions = Array.from({ length: Math.min(BATCH, total - done) }, () => randomQuestion(random));
      const expected = askGrep(questions, names);
      const wrong: string[] = [];
      for (const [i, question] of questions.entries()) {
        const { output, errors, report } = await searchInProcess(question, paths);
        const said = errors.map((message) => `error: ${message}\n`).join('');
        const found = `${output}${said}`.replaceAll(`${folder}/`, '');
        // GNU grep 3.8 aborts at some expressions, such as ^\b(\>a|b)*, and gives no answer.
        if (expected[i].includes('grep: program error')) continue;
        if (found !== expected[i])
          wrong.push(
            `${question.syntax} ${question.flags.join(' ')} ${JSON.stringify(question.pattern.toString('latin1'))}: expected ${expected[i].length} bytes, got ${found.length}`,
          );
        if (i % 40 === 0) await expectSameOnServer(question);
        expect(report.whole['not indexed'] + report.whole.changed + report.whole['damaged index']).toBe(0);
        skipped += report.blocks - report.candidates;
        asked += report.blocks;
      }
      expect(wrong).toEqual([]);
      if (EFFORT > 1) console.log(`${done + questions.length} questions agree with zgrep`);
    }
    // The index takes part in the test.
    expect(skipped / asked).toBeGreaterThan(0.2);
  },
  900_000 * Math.max(1, EFFORT),
);
