/**
 * `npm run simulation-page -- --write`: writes the tables of docs/guide/simulation.md and the plots
 * in docs/guide/figures again, from bench/results/simulation.json, which `npm run bench:simulation`
 * writes. Rows that have not run are left out. Without `--write` it compares the tables, and the
 * exit code is 1 if they differ.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { svgFile } from '@bloomery/papers/drawing';
import { keepPart } from '../../tools/written-part.mjs';
import { besideSummaryCache } from './beside-summary-cache.ts';
import { fleetPlan } from './fleet-plan.ts';
import { PLOTS } from './page-plots.ts';
import { resultSections } from './page-tables.ts';
import { SimulatedRows } from './simulated-rows.ts';

const PAGE = fileURLToPath(new URL('../../docs/guide/simulation.md', import.meta.url));
const FIGURES = fileURLToPath(new URL('../../docs/guide/figures/', import.meta.url));
const RESULTS = fileURLToPath(new URL('../results/simulation.json', import.meta.url));

const rows = SimulatedRows.read(RESULTS);
const plots = Object.entries(PLOTS).flatMap(([name, make]) => {
  const plot = make(rows);
  return plot === null ? [] : [{ name, svg: svgFile(plot) }];
});
const drawn = plots.map(({ name }) => name);
const parts = { results: resultSections(rows, drawn), beside: besideSummaryCache(rows), plan: fleetPlan() };
for (const [name, lines] of Object.entries(parts)) {
  const kept = keepPart({
    page: PAGE,
    begin: `<!-- written by bench/simulation-page: ${name} -->`,
    end: `<!-- end: ${name} -->`,
    text: lines.join('\n'),
    tool: 'bench/simulation-page/main.ts',
  });
  if (!kept) process.exitCode = 1;
}
if (process.argv.includes('--write') && plots.length > 0) {
  mkdirSync(FIGURES, { recursive: true });
  for (const { name, svg } of plots) writeFileSync(join(FIGURES, `${name}.svg`), svg);
}
