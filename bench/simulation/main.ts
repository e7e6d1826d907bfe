/**
 * Fleets of simulated caches, in tables: `npm run bench:simulation -- --write` puts them into
 * bench/results/simulation.md, and the figures of each row into bench/results/simulation.json.
 * Rows that are in that file do not run again, unless they are named by `--again`.
 */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fleetRows, type RowFigures, runRow, SECTIONS } from './fleet-rows.ts';
import { fleetPage } from './fleet-tables.ts';
import { RowFile } from './row-file.ts';

const FIGURES = fileURLToPath(new URL('../results/simulation.json', import.meta.url));
const RESULTS = fileURLToPath(new URL('../results/simulation.md', import.meta.url));

const HELP = `npm run bench:simulation -- [options]

  --only TEXT        rows whose "section/name" contains this text; sections: ${SECTIONS.join(', ')}
  --seed N           only this seed
  --quick            a tenth of the size, one seed; nothing is written
  --write            keep the figures, and write the tables of all rows that have run
  --again            run rows that have run before
  --help`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seed: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (options.help) {
    console.log(HELP);
    return;
  }
  if (options.quick && options.write)
    throw new RangeError('Cannot write: expected rows of full size, got --quick with --write');
  const rows = fleetRows(options.quick).filter(({ section, name }) =>
    `${section}/${name}`.includes(options.only),
  );
  if (rows.length === 0) throw new RangeError(`Cannot run: expected a known row, got ${options.only}`);
  const file = options.quick ? null : new RowFile(FIGURES);
  const figures: RowFigures[] = [...(file?.all ?? [])];
  for (const row of rows) {
    for (const seed of row.seeds) {
      if (options.seed !== undefined && Number(options.seed) !== seed) continue;
      if (!options.again && file?.has({ ...row, seed })) continue;
      const title = `${row.section}/${row.name}, seed ${seed}`;
      const told = await runRow(row, seed, (share) =>
        process.stderr.write(`\r${title}: ${(100 * share).toFixed(0)} %`),
      );
      process.stderr.write(`\r${title}: ${told.cpuSeconds.toFixed(0)} s of CPU time\n`);
      figures.push(told);
      if (options.write) file?.set(told);
    }
  }
  const page = fleetPage(fleetRows(options.quick), options.write && file !== null ? file.all : figures);
  console.log(page);
  if (options.write) writeFileSync(RESULTS, page);
}

await main();
