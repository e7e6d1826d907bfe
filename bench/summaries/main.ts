/**
 * `npm run bench:summaries`: what it takes to keep the summary of a changing set current at others.
 * Bytes of updates against theory (update-bytes.ts), and CPU time of an update by the number of
 * keys (update-costs.ts). `bench:cooperation -- --only bytes` compares them with other ways.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { updateBytesLines } from './update-bytes.ts';
import { updateCostsLines } from './update-costs.ts';

const HELP = `npm run bench:summaries -- [options]

  --quick            up to 100,000 keys, fewer rounds: half a minute
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) {
  console.log(HELP);
} else {
  const quick = options.quick;
  const lines = [
    '# Summaries that are kept current',
    '',
    `Made by \`npm run bench:summaries${quick ? ' -- --quick' : ''}\`. Sizes do not depend on the machine. A share c of the keys is`,
    'replaced between two messages. Theory counts the entropy alone; messages have a head of 36 bytes. Other ways to',
    'tell the difference: [docs/notes/summary-bytes.md](../../docs/notes/summary-bytes.md).',
    '',
    ...updateBytesLines(quick ? [1e5] : [1e5, 1e6]),
    ...updateCostsLines(quick ? [1e4, 1e5] : [1e4, 1e5, 1e6], quick ? 9 : 31),
  ];
  const text = `${lines.join('\n').trimEnd()}\n`;
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, text);
}
