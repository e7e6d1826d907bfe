/**
 * `npm run compare -- --against FOLDER`: this build beside the build of another checkout, in one
 * run. It answers whether a change made the library or the command slower, so it prints the median
 * of the rounds' ratios and how far they spread. A ratio is news only where the whole spread, and
 * the ratio of the fastest rounds, lie on one side of 1.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compileForNode } from '../shared/compile.ts';
import { asText, ns, type Table } from '../shared/report.ts';
import { median, medianRatio } from '../shared/statistics.ts';
import { compareCommands } from './commands.ts';
import { type Compared, compareSubject } from './libraries.ts';
import { SUBJECTS } from './operations.ts';

const HELP = `npm run compare -- --against FOLDER [options]

  --against FOLDER   the root of another checkout, in which \`npm install && npm run build\` has run
  --only PATTERN     subjects whose name matches: ${SUBJECTS.join(', ')}, command
  --rounds N         rounds in each pair of processes (15)
  --starts N         pairs of processes for each subject (3): what V8 compiles differs from process to process
  --lines N          lines that the command builds a filter from (1000000)
  --quick            5 rounds, 1 pair, 100000 lines
  --help`;

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    starts: { type: 'string' },
    lines: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(against: string): Promise<void> {
  if (!existsSync(join(against, 'packages/bloomery/dist/index.js'))) {
    throw new Error(`Cannot compare: expected a built checkout, got ${against} (--against)`);
  }
  const folders = { here: fileURLToPath(new URL('../..', import.meta.url)), there: against };
  const rounds = Number(options.rounds ?? (options.quick ? 5 : 15));
  const starts = Number(options.starts ?? (options.quick ? 1 : 3));
  const only = new RegExp(options.only);
  const program = await compileForNode('compare/build-process');
  for (const subject of SUBJECTS.filter((name) => only.test(name))) {
    process.stderr.write(`measuring: ${subject}\n`);
    console.log(asText(table(subject, await compareSubject(program, subject, folders, { rounds, starts }))));
  }
  if (only.test('command')) {
    process.stderr.write('measuring: command\n');
    const lines = Number(options.lines ?? (options.quick ? 1e5 : 1e6));
    console.log(asText(table('command', compareCommands(folders, lines, rounds))));
  }
}

function table(title: string, rows: readonly Compared[]): Table {
  return {
    title,
    head: ['', 'per', 'there', 'here', 'here / there', 'quartiles', 'fastest rounds'],
    numbersFrom: 2,
    rows: rows.map(({ name, unit, here, there }) => {
      const ratios = here.map((value, i) => value / there[i]).sort((a, b) => a - b);
      const quartile = (share: number) => ratios[Math.round(share * (ratios.length - 1))].toFixed(2);
      return [
        name,
        unit,
        ns(median(there)),
        ns(median(here)),
        medianRatio(here, there).toFixed(2),
        `${quartile(0.25)} to ${quartile(0.75)}`,
        (Math.min(...here) / Math.min(...there)).toFixed(2),
      ];
    }),
    notes: [
      'processor time, medians of the rounds: ns, and ms for the command; above 1: this build is slower',
    ],
  };
}

if (options.help || options.against === undefined) console.log(HELP);
else await main(options.against);
