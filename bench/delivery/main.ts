/**
 * `npm run bench:delivery`: one file for 20 nodes from one origin, each in a process and behind a
 * link that it limits itself, then the same with a third of them killed midway. curl and aria2
 * take a file from one origin in the same run; theirs may be smaller (`--plain-bytes`), because
 * their time is that of 20 downloads. The full form is
 *
 *     npm --prefix bench run bench:delivery -- --bytes 200e6 --rate 12.5e6 --markdown delivery.md
 *
 * It needs about 60 s of CPU time for 20 nodes, so it needs four idle cores or more to say anything
 * about time.
 */

import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { DeliveryFleet, type FleetFigures } from '../../packages/delivery/test/processes/delivery-fleet.ts';
import { measurePlain, type PlainClient } from './plain-clients.ts';

const { values: options } = parseArgs({
  options: {
    nodes: { type: 'string', default: '20' },
    bytes: { type: 'string', default: '50e6' },
    rate: { type: 'string', default: '2.5e6' },
    'plain-bytes': { type: 'string', default: '4e6' },
    plain: { type: 'string', default: 'curl,aria2c' },
    markdown: { type: 'string' },
    json: { type: 'string' },
  },
});
const [nodes, bytes, rate, plainBytes] = [
  options.nodes,
  options.bytes,
  options.rate,
  options['plain-bytes'],
].map(Number);

const loads: number[] = [];

async function measure(killed: number): Promise<{ figures: FleetFigures; curves: [number, number][][] }> {
  loads.push(loadavg()[0]);
  await using fleet = await DeliveryFleet.start({ nodes, bytes, bytesPerSecond: rate });
  await fleet.begin();
  if (killed > 0) {
    await fleet.when(
      () => fleet.curves.filter((curve) => (curve.at(-1)?.[1] ?? 0) >= 0.5).length >= nodes / 2,
    );
    await fleet.kill(fleet.nodes.slice(0, killed));
  }
  const figures = await fleet.finish();
  loads.push(loadavg()[0]);
  return { figures, curves: fleet.curves };
}

const whole = await measure(0);
console.log(JSON.stringify(whole.figures));
const thinned = await measure(Math.floor(nodes / 3));
console.log(JSON.stringify(thinned.figures));
const plain: string[] = [];
for (const client of options.plain.split(',').filter((name) => name !== '') as PlainClient[]) {
  const { ratio, copies } = await measurePlain(client, nodes, plainBytes, rate);
  loads.push(loadavg()[0]);
  plain.push(row(client, ratio, copies, '', '', `${nodes} of ${nodes}`));
}

function row(
  name: string,
  ratio: number,
  copies: number,
  wasted: string,
  cpu: string,
  right: string,
): string {
  return `| ${name} | ${ratio.toFixed(2)} | ${copies.toFixed(3)} | ${wasted} | ${cpu} | ${right} |`;
}

function fleetRow(name: string, figures: FleetFigures): string {
  const { lastMs, oneMs, originCopies, wasted, cpuMsPerNode, rightFiles, survivors } = figures;
  const share = `${(100 * wasted).toFixed(2)} %`;
  const cpu = `${(cpuMsPerNode / 1000).toFixed(2)} s`;
  return row(name, lastMs / oneMs, originCopies, share, cpu, `${rightFiles} of ${survivors}`);
}

const page = `# Delivery: one file for ${nodes} nodes

\`npm run bench:delivery\`. An origin that sends ${rate / 1e6} MB/s, and ${nodes} nodes in processes of their own, each with ${rate / 1e6} MB/s in each
direction, limited by the processes themselves. A file of ${bytes / 1e6} MB; for curl and aria2 one of ${plainBytes / 1e6} MB, each process for itself. Time
counts from the moment when all processes listen, in downloads: 1 is one download over one link. One round; the load of the machine was
${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on ${availableParallelism()} cores, which makes times longer and does not change the other columns.

| | last node done, downloads | copies that the origin sent | wasted | CPU per node | right files |
|---|---:|---:|---:|---:|---:|
${fleetRow('fetchFrom', whole.figures)}
${fleetRow('fetchFrom, a third killed midway', thinned.figures)}
${plain.join('\n')}
`;
console.log(page);
if (options.markdown !== undefined) writeFileSync(options.markdown, page);
if (options.json !== undefined)
  writeFileSync(
    options.json,
    `${JSON.stringify({ oneMs: whole.figures.oneMs, curves: whole.curves.map((curve) => curve.map(([ms, share]) => [Math.round(ms), Number(share.toFixed(3))])) })}\n`,
  );
