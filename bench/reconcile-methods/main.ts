/**
 * `npm run bench:reconcile-methods`: the methods of survey 5.2 beside the exact session. Trees
 * and plain filters in one direction: shares that are found, shares at equal bytes, processor time
 * against n and d.
 */

import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { accuracyTable, equalBytesTable } from './accuracy.ts';
import { cpuTable } from './cpu.ts';

const HELP = `npm run bench:reconcile-methods -- [options]

  --quick            10,000 and 100,000 keys, fewer trials: half a minute
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(HELP);
else {
  const before = loadavg()[0].toFixed(1);
  const tables = [
    ...accuracyTable(options.quick ? 10 : 100),
    '',
    ...equalBytesTable(100_000, options.quick ? 2 : 10),
    '',
    ...cpuTable(options.quick ? [1e4, 1e5] : [1e4, 1e5, 1e6, 1e7], options.quick ? 3 : 5),
  ];
  const text = [
    '# Ways to reconcile',
    '',
    'Written by `npm run bench:reconcile-methods -- --markdown results/reconcile-methods.md`.',
    '',
    `${cpus()[0].model.trim()}, ${cpus().length} cores, Node ${process.versions.node}; load ${before} at the start and ${loadavg()[0].toFixed(1)} at the end. Times are`,
    'processor time; ratios within a row are what counts.',
    '',
    ...tables,
  ].join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}
