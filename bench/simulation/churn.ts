/**
 * Fleets in groups whose nodes come and go, in a table: `npm run bench:churn -- --write` puts it
 * into bench/results/churn.md, and the figures into bench/results/churn.json. 256 nodes in groups
 * of 16 for ten virtual minutes, with requests; each row has three seeds. Runs that are in the file
 * do not run again, unless `--again` says so.
 *
 * The program fails if a request got no answer, or if a group had two leaders in one epoch.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type ChurnResult, simulateChurn } from '@bloomery/cache/simulation';
import { type ChurnFigures, churnTable } from './churn-table.ts';

const FIGURES = fileURLToPath(new URL('../results/churn.json', import.meta.url));
const RESULTS = fileURLToPath(new URL('../results/churn.md', import.meta.url));
const SEEDS = [1, 2, 3];
const GROUP_SIZE = 16;
const NODES = 256;
/** Mean time for which a node runs, in minutes, from calm to wild. */
const UP_MINUTES = [60, 20, 5];
const FLEET = { nodes: NODES, groupSize: GROUP_SIZE, capacity: 100, objects: 40_000, rate: 0.05 };

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string' },
    write: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const figures: ChurnFigures[] = options.again ? [] : read();
  for (const seed of SEEDS)
    for (const upMinutes of UP_MINUTES) {
      if (options.seed !== undefined && Number(options.seed) !== seed) continue;
      if (figures.some((each) => each.seed === seed && each.upMinutes === upMinutes)) continue;
      const before = process.cpuUsage();
      const result = await simulateChurn({
        ...FLEET,
        seed,
        meanUpMs: () => upMinutes * 60_000,
        down: { meanMs: 60_000 },
      });
      const { user, system } = process.cpuUsage(before);
      figures.push(figuresOf(result, seed, upMinutes));
      console.error(
        `up ${upMinutes} minutes, seed ${seed}: ${((user + system) / 1e6).toFixed(0)} s of CPU time`,
      );
      if (options.write) writeFileSync(FIGURES, `${JSON.stringify(figures, null, 2)}\n`);
    }
  const page = `# Groups under churn\n\nWritten by \`npm run bench:churn -- --write\`.\n\n${churnTable(figures).join('\n')}\n`;
  console.log(page);
  if (options.write) writeFileSync(RESULTS, page);
}

/** The figures of a run. Throws if an invariant was broken. */
function figuresOf(result: ChurnResult, seed: number, upMinutes: number): ChurnFigures {
  const { fleet, ends, claims, leaderEnds, lostRequests, unanswered, churnMs, beliefs } = result;
  const groups = NODES / GROUP_SIZE;
  const where = `mean time of ${upMinutes} minutes, seed ${seed}`;
  const epochs = new Set(claims.map(({ group, epoch }) => `${group} ${epoch}`));
  if (unanswered > 0)
    throw new Error(`Cannot accept a run: expected no open request, got ${unanswered} (${where})`);
  if (epochs.size !== claims.length)
    throw new Error(
      `Cannot accept a run: expected one leader per epoch, got ${claims.length} claims of ${epochs.size} epochs (${where})`,
    );
  if (beliefs.some(({ length }) => length !== 1))
    throw new Error(
      `Cannot accept a run: expected one leader per group at the end, got more or none (${where})`,
    );
  return {
    seed,
    upMinutes,
    groups,
    churnHours: churnMs / 3_600_000,
    ends: ends.stops + ends.crashes,
    crashes: ends.crashes,
    leaderEnds,
    leaderChanges: claims.length - groups,
    requests: fleet.requests,
    originFetches: fleet.originFetches,
    lostRequests,
    p99Ms: fleet.latencyMs.p99,
  };
}

function read(): ChurnFigures[] {
  return existsSync(FIGURES) ? (JSON.parse(readFileSync(FIGURES, 'utf8')) as ChurnFigures[]) : [];
}

await main();
