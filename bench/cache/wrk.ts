/** Load by wrk (Debian: wrk), in a process of its own, and what it saw. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface Load {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  /** A Lua script. */
  readonly script?: string;
  readonly scriptArguments?: readonly string[];
}

export async function load(url: string, options: LoadOptions): Promise<Load> {
  const { connections, seconds, script, scriptArguments = [] } = options;
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '--timeout', '30s'];
  if (script !== undefined) args.push('-s', script);
  args.push(url, ...(scriptArguments.length > 0 ? ['--', ...scriptArguments] : []));
  const { stdout } = await promisify(execFile)('wrk', args);
  const value = (pattern: RegExp) => pattern.exec(stdout)?.[1];
  const requests = Number(value(/Requests\/sec:\s+([\d.]+)/));
  if (!(requests > 0)) throw new Error(`wrk measured nothing at ${url}:\n${stdout}`);
  const failed = [
    ...stdout.matchAll(/(?:connect|read|write|timeout) (\d+)|Non-2xx or 3xx responses: (\d+)/g),
  ];
  return {
    requestsPerSecond: requests,
    bytesPerSecond: size(value(/Transfer\/sec:\s+([\d.]+[KMGT]?B)/) ?? '0B'),
    p50Ms: milliseconds(value(/50%\s+([\d.]+\w+)/) ?? '0us'),
    p99Ms: milliseconds(value(/99%\s+([\d.]+\w+)/) ?? '0us'),
    errors: failed.reduce((sum, [, a, b]) => sum + Number(a ?? b), 0),
  };
}

function milliseconds(text: string): number {
  const [, amount, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text) ?? [];
  return Number(amount) * { us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit as 'us' | 'ms' | 's' | 'm'];
}

function size(text: string): number {
  const [, amount, unit] = /^([\d.]+)([KMGT]?)B$/.exec(text) ?? [];
  return Number(amount) * 1024 ** ['', 'K', 'M', 'G', 'T'].indexOf(unit ?? '');
}
