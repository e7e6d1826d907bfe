/**
 * `npm run bench:summaries`: what it takes to keep the summary of a changing set current at others.
 * Bytes of updates against theory (update-bytes.ts), CPU time of an update by the number of keys
 * (update-costs.ts), and of single steps (step-times.ts). Other ways to send an update are in
 * docs/notes/summary-bytes.md, by `npm run bench:cooperation`.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { stepTimesLines } from './step-times.ts';
import { updateBytesLines } from './update-bytes.ts';
import { updateCostsLines } from './update-costs.ts';

const HELP = `npm run bench:summaries -- [options]

  --only LIST        sections: bytes, costs, steps (all of them)
  --quick            up to 100,000 keys, fewer rounds: half a minute
  --markdown FILE    put the sections into this file; the others stay
  --help`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** The sections in their order. The lines of each begin with its title. */
const SECTIONS: Readonly<Record<string, (quick: boolean) => string[]>> = {
  bytes: (quick) => updateBytesLines(quick ? [1e5] : [1e5, 1e6]),
  costs: (quick) => updateCostsLines(quick ? [1e4, 1e5] : [1e4, 1e5, 1e6], quick ? 9 : 31),
  steps: stepTimesLines,
};

const HEAD = `# Summaries that are kept current

Made by \`npm run bench:summaries\`. Sizes do not depend on the machine. A share c of the keys is
replaced between two messages. Theory counts the entropy alone; messages have a head of 36 bytes.
[docs/notes/summary-bytes.md](../../docs/notes/summary-bytes.md) compares them with other ways to send an update.`;

if (options.help) {
  console.log(HELP);
} else {
  const names = Object.keys(SECTIONS);
  const wanted = options.only?.split(',') ?? names;
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new RangeError(`Cannot run a section: expected some of ${names.join(', ')}, got ${unknown}`);
  for (const name of wanted) {
    const text = SECTIONS[name](options.quick).join('\n').trimEnd();
    console.log(`${text}\n`);
    if (options.markdown !== undefined) put(text, options.markdown);
  }
}

/** Replaces the section with the same title in a file, or adds it at the end. */
function put(section: string, file: string): void {
  const old = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split(/\n(?=## )/)
        .slice(1)
    : [];
  const [title] = section.split('\n');
  const parts = old.map((part) => (part.split('\n')[0] === title ? section : part.trimEnd()));
  if (!parts.includes(section)) parts.push(section);
  writeFileSync(file, `${[HEAD, ...parts].join('\n\n')}\n`);
}
