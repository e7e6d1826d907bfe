/**
 * `npm run bench:delivery-swarm`: fleets of up to 1,000 nodes that fetch one file by the decisions
 * of production, in virtual time.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type SwarmSettings, simulateSwarm } from '@bloomery/delivery/simulation';

const HELP = `npm run bench:delivery-swarm -- [options]

  --quick            fleets of up to 100 nodes: some seconds
  --markdown FILE    write the table
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(HELP);
else await run();

async function run(): Promise<void> {
  const fleets: (Omit<SwarmSettings, 'seed' | 'size'> & { megabytes: number })[] = [
    { nodes: 20, megabytes: 200 },
    { nodes: 20, megabytes: 200, killed: { share: 1 / 3, atMs: 8000 } },
    { nodes: 60, megabytes: 200 },
    { nodes: 100, megabytes: 200 },
    ...(options.quick ? [] : [{ nodes: 1000, megabytes: 10 }]),
  ];
  const rows: string[] = [];
  for (const { megabytes, ...fleet } of fleets) {
    const start = process.cpuUsage();
    const result = await simulateSwarm({ ...fleet, seed: 1, size: megabytes * 1e6 });
    const { user, system } = process.cpuUsage(start);
    const times = (share: number) =>
      ((result.doneMs[Math.ceil(share * result.doneMs.length) - 1] ?? 0) / result.oneDownloadMs).toFixed(2);
    const cells = [
      `${fleet.nodes.toLocaleString('en')}${fleet.killed ? ', a third killed midway' : ''}`,
      `${megabytes} MB`,
      `${result.doneMs.length} of ${result.survivors}`,
      times(0.5),
      times(1),
      result.originCopies.toFixed(2),
      `${(100 * result.duplicateShare).toFixed(2)} %`,
      result.events.toLocaleString('en'),
      ((user + system) / 1e6).toFixed(1),
    ];
    rows.push(`| ${cells.join(' | ')} |`);
    console.error(rows.at(-1));
  }
  const text = [
    '# Fleets that fetch one file',
    '',
    'Written by `npm run bench:delivery-swarm -- --markdown results/delivery-swarm.md`. Virtual time; the same command gives the same',
    'figures, except for the processor time. The file of the largest fleet is small, so that the half second in which nodes begin is',
    'most of a download.',
    '',
    'Every node and the origin send and receive at 100 Mb/s. Nodes begin within half a second and follow up to 64 others. Times are',
    'multiples of one download over an idle link. In a fleet of more than 64 nodes a node does not know all others, so several of',
    'them take themselves for the owner of a block, and the origin sends more copies.',
    '',
    '| nodes | file | complete | half of them done | all done | copies by the origin | duplicate bytes | events | CPU, s |',
    '|---|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}
