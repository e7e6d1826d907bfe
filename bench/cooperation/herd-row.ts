/**
 * A herd: all nodes are asked at once for one cold object behind a slow line. How often is the
 * origin asked, and when does the last node have all of it, as a multiple of one download?
 *
 * The download is measured first, without a node. Some small herds come before the large one,
 * because a process that has just started compiles its code for the first seconds. Clients and
 * origin share this process, which has to compare every byte of every answer; so the machine counts
 * more than the line if it is small.
 */

import { until } from '../../packages/testkit/src/eventually.ts';
import { checkedGet } from '../../packages/testkit/src/fleet/checked-get.ts';
import { knownBody, knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { met, startBenchFleet } from './bench-fleet.ts';

/** 100 Mb/s. */
const BYTES_PER_SECOND = 12_500_000;
const MOST_DOWNLOADS = 2.5;
const WARM_UP = 20;

export async function herdTable(isQuick: boolean): Promise<string[]> {
  const nodes = isQuick ? 4 : 16;
  const bytes = isQuick ? 5_000_000 : 50_000_000;
  const rows: string[] = [];
  for (const kills of [false, true])
    for (let run = 0; run < (isQuick ? 1 : 3); run++) rows.push(await herd(nodes, bytes, kills));
  return [
    `${nodes} processes with default settings and a disk, an object of ${bytes / 1e6} MB, an origin behind 100 Mb/s.`,
    '',
    '| fetching node | download alone, s | last node, s | multiple | fetches at the origin | of them ranges | whole answers | wrong bytes | wanted |',
    '|---|---:|---:|---:|---:|---:|---:|---:|---|',
    ...rows,
  ];
}

async function herd(nodes: number, bytes: number, kills: boolean): Promise<string> {
  await using origin = await ThrottledOrigin.start({ bytesPerSecond: BYTES_PER_SECOND });
  const alone = knownPath('alone', bytes);
  const path = knownPath('layer', bytes);
  for (const each of [alone, path]) knownBody(each);
  const { totalMs } = await checkedGet(Number(new URL(origin.url).port), alone);
  await using fleet = await startBenchFleet({
    nodes,
    origin: origin.url,
    // A node without a disk keeps no object above an eighth of its memory, and shares none either.
    settings: (index, folder) => ({ disk: `${folder}/disk-${index}` }),
  });
  for (let small = 0; small < WARM_UP; small++)
    await Promise.all(fleet.nodes.map((node) => checkedGet(node.port, knownPath(`small/${small}`, 200_000))));
  origin.requests.length = 0;
  const asked = fleet.nodes.map((node) => checkedGet(node.port, path));
  let killed = -1;
  if (kills) {
    await until('a third of the body', () => (origin.requests[0]?.bytes ?? 0) > bytes / 3);
    killed = fleet.nodes.findIndex(({ name }) => String(origin.requests[0].headers.via).includes(name));
    await fleet.nodes[killed].kill();
  }
  const answers = await Promise.all(asked);
  const left = answers.filter((_, i) => i !== killed);
  const last = Math.max(...left.map((answer) => answer.totalMs));
  const whole = left.filter(({ isWhole, status }) => isWhole && status === 200).length;
  const wrong = answers.filter((answer) => answer.wrong !== null).length;
  const fetches = origin.fetches(path);
  const multiple = last / totalMs;
  const most = kills ? 2 : 1;
  const isMet = fetches <= most && wrong === 0 && (kills || multiple <= MOST_DOWNLOADS);
  const wanted = kills ? `at most ${most} fetches` : `1 fetch, at most ${MOST_DOWNLOADS} times`;
  return `| ${kills ? 'killed after a third' : 'lives'} | ${(totalMs / 1000).toFixed(2)} | ${(last / 1000).toFixed(2)} | ${multiple.toFixed(2)} | ${fetches} | ${origin.rangeFetches(path)} | ${whole} of ${left.length} | ${wrong} | ${wanted}: ${met(isMet)} |`;
}
