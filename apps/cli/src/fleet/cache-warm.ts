/**
 * `bloomery cache warm`: fills a running node with the objects of a neighbour that it lacks. The
 * node does the work (`/.bloomery/warm`); this command begins it, shows how far it is, and stops it
 * at Ctrl-C. What was fetched until then stays, and the next warm-up goes on from there.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { WarmStatus } from '@bloomery/cache';
import type { Command } from 'commander';
import { parseBytes, withExamples, withJson } from '../command-options.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';
import { askNode } from './ask-node.ts';

interface WarmOptions {
  readonly from: string;
  readonly node: string;
  readonly dryRun?: boolean;
  readonly maxBytes?: number;
  readonly rate?: number;
  readonly json?: boolean;
}

const ANSWER_MS = 30_000;
/** The pause between two looks at a running warm-up. */
const LOOK_MS = 250;

export function registerWarm(cache: Command): void {
  const command = cache
    .command('warm')
    .description('fill a running node with the objects of a neighbour')
    .requiredOption('--from <url|name>', 'the neighbour: the URL of its peer port, or its name')
    .option('--dry-run', 'say what is missing, and fetch nothing')
    .option('--max-bytes <size>', 'fetch at most so much (default: what fits without evicting)', parseBytes)
    .option('--rate <size>', 'fetch at most so many bytes per second', parseBytes)
    .option('--node <url>', 'where the node, or its --admin-listen, is reached', 'http://127.0.0.1:3128')
    .action((options: WarmOptions) => run(options));
  withExamples(withJson(command), [
    [
      'bloomery cache warm --from http://10.0.0.2:3129',
      'the node on this machine gets what that neighbour has',
    ],
    ['bloomery cache warm --from cache-b --dry-run', 'how much is missing?'],
  ]);
}

async function run(options: WarmOptions): Promise<void> {
  const { from, dryRun, maxBytes, rate, json } = options;
  const signals = holdSignals();
  try {
    let answer = await ask(options, 'POST', {
      from,
      ...(dryRun ? { 'dry-run': 'yes' } : {}),
      ...(maxBytes === undefined ? {} : { 'max-bytes': String(maxBytes) }),
      ...(rate === undefined ? {} : { rate: String(rate) }),
    });
    answer = await follow(answer, options, signals.stop);
    if (answer.problem !== null) throw new UsageError(answer.problem.message);
    if (json) writeJson(answer);
    else for (const line of linesOf(answer, dryRun === true)) writeLine(line);
  } finally {
    signals.close();
  }
}

/** Waits for the end, and shows progress. */
async function follow(first: WarmStatus, options: WarmOptions, stop: AbortSignal): Promise<WarmStatus> {
  let answer = first;
  let progress: ReturnType<typeof startProgress> | undefined;
  let shown = 0;
  try {
    while (answer.state === 'comparing' || answer.state === 'fetching') {
      if (stop.aborted) return await ask(options, 'POST', { stop: 'yes' });
      if (answer.state === 'fetching')
        progress ??= startProgress({ what: 'fetching', total: answer.wantedBytes, enabled: !options.json });
      progress?.advance(answer.storedBytes - shown);
      shown = answer.storedBytes;
      await pause(LOOK_MS, undefined, { signal: stop }).catch(() => {});
      answer = await ask(options, 'GET', {});
    }
  } finally {
    progress?.stop();
  }
  return answer;
}

function linesOf(answer: WarmStatus, isDryRun: boolean): string[] {
  const { from, offered, lacking, lackingBytes, stale, tooMany, compareBytes } = answer;
  const lines = [
    `${from} offers ${objects(offered)}; ${formatCount(lacking)} of them are missing here, ${formatBytes(lackingBytes)} (compared with ${formatBytes(compareBytes)})`,
  ];
  if (stale > 0) lines.push(`${objects(stale)} become stale within a minute, and are left out`);
  if (tooMany > 0) lines.push(`${objects(tooMany)} find no room, and are left out`);
  if (isDryRun) lines.push(`would fetch ${objects(answer.wanted)}, ${formatBytes(answer.wantedBytes)}`);
  else {
    const others = [
      [answer.present, 'came by other ways meanwhile'],
      [answer.refused, 'were refused or not kept'],
      [answer.skipped, 'have no route here or may not be fetched'],
    ].flatMap(([count, what]) => (count === 0 ? [] : [`${formatCount(count as number)} ${what}`]));
    lines.push(
      [`fetched ${objects(answer.stored)}, ${formatBytes(answer.storedBytes)}`, ...others].join('; '),
    );
  }
  return lines;
}

function objects(count: number): string {
  return count === 1 ? '1 object' : `${formatCount(count)} objects`;
}

async function ask(
  { node }: WarmOptions,
  method: 'GET' | 'POST',
  parameters: Record<string, string>,
): Promise<WarmStatus> {
  const path = '/.bloomery/warm';
  const { text } = await askNode({ node, path, method, parameters, withinMs: ANSWER_MS });
  return JSON.parse(text) as WarmStatus;
}
