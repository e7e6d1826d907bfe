/**
 * `bloomery cache purge`: removes URLs from a running node, and with `--fleet` from its neighbours.
 * It uses the node's own endpoint (`/.bloomery/purge`), so it works from every machine that
 * `--admin-client` allows.
 */

import { formatTable } from '@bloomery/papers/drawing';
import type { Command } from 'commander';
import { withExamples, withJson } from '../command-options.ts';
import { formatCount } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';
import { askNode } from './ask-node.ts';

interface PurgeOptions {
  readonly node: string;
  readonly fleet?: boolean;
  readonly json?: boolean;
}

/** The answer of a node for one URL. The lists are there with `--fleet` alone. */
interface PurgeAnswer {
  readonly url: string;
  readonly purged: number;
  readonly confirmed?: readonly string[];
  readonly waiting?: readonly string[];
}

/** How long a node may take: it waits 10 s for its neighbours. */
const ANSWER_MS = 30_000;

export function registerPurge(cache: Command): void {
  const command = cache
    .command('purge')
    .argument('<url...>', 'URLs as clients of a forward proxy ask for them, or paths of the node')
    .description('remove URLs from a running node')
    .option('--fleet', 'remove them from its neighbours as well')
    .option('--node <url>', 'where the node, or its --admin-listen, is reached', 'http://127.0.0.1:3128')
    .action((urls: string[], options: PurgeOptions) => run(urls, options));
  withExamples(withJson(command), [
    ['bloomery cache purge http://example.org/news', 'all variants of one URL, in the node on this machine'],
    [
      'bloomery cache purge --fleet /prefix/news /prefix/',
      'paths of a reverse proxy, in all nodes of its fleet',
    ],
  ]);
}

async function run(urls: readonly string[], options: PurgeOptions): Promise<void> {
  const answers: PurgeAnswer[] = [];
  for (const url of urls) answers.push(await purge(url, options));
  if (options.json) writeJson(answers);
  else {
    const rows = answers.map(({ url, purged, confirmed, waiting }) => [
      url,
      formatCount(purged),
      ...(options.fleet ? [confirmed?.join(', ') || '–', waiting?.join(', ') || '–'] : []),
    ]);
    const head = ['URL', 'removed here', ...(options.fleet ? ['confirmed', 'not yet'] : [])];
    writeLine(formatTable([head, ...rows], { right: [1] }));
  }
  const late = new Set(answers.flatMap(({ waiting }) => waiting ?? []));
  if (late.size > 0)
    throw new UsageError(
      `${[...late].join(', ')} did not confirm in time; the node tells them again until they do, and "bloomery cache peers" says what is wrong`,
    );
}

async function purge(url: string, { node, fleet }: PurgeOptions): Promise<PurgeAnswer> {
  const parameters = { url, ...(fleet ? { fleet: 'yes' } : {}) };
  const path = '/.bloomery/purge';
  const { text } = await askNode({ node, path, method: 'POST', parameters, withinMs: ANSWER_MS });
  return JSON.parse(text) as PurgeAnswer;
}
