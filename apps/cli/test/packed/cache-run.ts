/**
 * Runs the installed cache with two workers: a response from an origin, the same once more,
 * metrics, and the end.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { until } from '@bloomery/testkit/eventually';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { cleanEnvironment } from './tarballs.ts';

export interface CacheRun {
  readonly bodies: readonly string[];
  /** Requests that came to the origin. */
  readonly asked: number;
  readonly metrics: string;
  /** Lines of its log. */
  readonly log: readonly { readonly event: string; readonly worker?: number }[];
  /** Exit code, or the signal that ended it. */
  readonly exit: number | string;
}

export interface CacheRunOptions {
  /** Further flags of the command. */
  readonly flags?: readonly string[];
  /** An event of its log to wait for before it is ended. */
  readonly event?: string;
}

export async function runCacheOnce(
  command: string,
  cwd: string,
  { flags: more = [], event }: CacheRunOptions = {},
): Promise<CacheRun> {
  await using origin = await startOrigin();
  origin.on('/', { headers: ['Cache-Control', 'max-age=600'], body: 'from the origin' });
  const flags = ['--workers', '2', '--no-disk', '--listen', '127.0.0.1:0', '--log-format', 'json', ...more];
  const child = spawn(command, ['cache', ...flags, '--upstream', `/o/=${origin.origin}/`], {
    cwd,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const log: CacheRun['log'][number][] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.startsWith('{')) log.push(JSON.parse(line));
  });
  try {
    const node = await listeningAddress(child.stdout, ended);
    const bodies = [await fetchText(`${node}/o/`), await fetchText(`${node}/o/`)];
    const metrics = await fetchText(`${node}/.bloomery/metrics`);
    if (event !== undefined) await until(event, () => log.some((line) => line.event === event));
    child.kill('SIGTERM');
    const [code, signal] = await ended;
    return { bodies, asked: origin.count('/'), metrics, log, exit: code ?? signal };
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  }
}

/** The address in its banner, which is printed when all workers listen. */
async function listeningAddress(output: NodeJS.ReadableStream, ended: Promise<unknown>): Promise<string> {
  let text = '';
  const found = new Promise<string>((resolve) => {
    output.on('data', (data) => {
      text += data;
      const [, address] = /listens on (http:\/\/127\.0\.0\.1:\d+)/.exec(text) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
  const early = ended.then((how) => {
    throw new Error(`The cache ended before it listened (${how}): ${text}`);
  });
  return Promise.race([found, early]);
}

async function fetchText(url: string): Promise<string> {
  const [response] = await once(get(url, { agent: false }), 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}
