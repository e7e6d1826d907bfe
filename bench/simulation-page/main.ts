/**
 * `npm run simulation-page -- --write`: writes the tables of docs/guide/simulation.md and
 * docs/guide/ten-thousand.md and the plots in docs/guide/figures again, from
 * bench/results/simulation.json and churn.json, which `npm run bench:simulation` and `npm run
 * bench:churn` write. Rows that have not run are left out. Without `--write` it compares the
 * tables, and the exit code is 1 if they differ.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { svgFile } from '@bloomery/papers/drawing';
import { keepPart } from '../../tools/written-part.mjs';
import type { ChurnFigures } from '../simulation/churn-table.ts';
import { besideSummaryCache } from './beside-summary-cache.ts';
import { fleetPlan } from './fleet-plan.ts';
import { groupSections } from './page-groups.ts';
import { PLOTS } from './page-plots.ts';
import { resultSections } from './page-tables.ts';
import { SimulatedRows } from './simulated-rows.ts';
import { tenThousand } from './ten-thousand.ts';

const PAGE = fileURLToPath(new URL('../../docs/guide/simulation.md', import.meta.url));
const FIGURES = fileURLToPath(new URL('../../docs/guide/figures/', import.meta.url));
const TEN_THOUSAND = fileURLToPath(new URL('../../docs/guide/ten-thousand.md', import.meta.url));
const CHURN = fileURLToPath(new URL('../results/churn.json', import.meta.url));
const RESULTS = fileURLToPath(new URL('../results/simulation.json', import.meta.url));

const rows = SimulatedRows.read(RESULTS);
const plots = Object.entries(PLOTS).flatMap(([name, make]) => {
  const plot = make(rows);
  return plot === null ? [] : [{ name, svg: svgFile(plot) }];
});
const churn = existsSync(CHURN) ? (JSON.parse(readFileSync(CHURN, 'utf8')) as ChurnFigures[]) : [];
const drawn = plots.map(({ name }) => name);
const parts = {
  results: { page: PAGE, lines: resultSections(rows, drawn) },
  beside: { page: PAGE, lines: besideSummaryCache(rows) },
  groups: { page: PAGE, lines: groupSections(rows, churn) },
  plan: { page: PAGE, lines: fleetPlan() },
  'ten-thousand': { page: TEN_THOUSAND, lines: tenThousand(rows) },
};
for (const [name, { page, lines }] of Object.entries(parts)) {
  const kept = keepPart({
    page,
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
