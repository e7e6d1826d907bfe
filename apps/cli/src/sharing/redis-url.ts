/**
 * The Redis server of a command line: `--url`, or the variable REDIS_URL, which keeps a password
 * out of the list of processes. The client is an optional package, `redis` or `ioredis`. It is
 * taken from the folder of the caller's program or from beside the command. It is not bundled,
 * because a program that shares a filter has one already.
 */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { RedisClient } from '@bloomery/stores/shared';
import { UsageError } from '../usage-error.ts';

const DEFAULT_URL = 'redis://127.0.0.1:6379';

/** The URL to use, checked. */
export function redisUrl(option: string | undefined): string {
  const text = option ?? (process.env.REDIS_URL || DEFAULT_URL);
  const from = option === undefined && process.env.REDIS_URL ? 'REDIS_URL' : '--url';
  if (URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol)) return text;
  // The text may hold a password, so it is not printed.
  throw new UsageError(
    `${from} is no address of Redis; it looks like redis://127.0.0.1:6379 or rediss://user:password@host:6380`,
  );
}

/** The URL without its password, for messages. */
export function withoutPassword(url: string): string {
  const parsed = new URL(url);
  if (parsed.password !== '') parsed.password = '***';
  return parsed.href;
}

/** A client that is not connected: the shared filter takes its settings. */
export function redisClient(url: string): RedisClient {
  for (const [name, make] of Object.entries(CLIENTS)) {
    const found = load(name);
    if (found !== undefined) return make(found, url);
  }
  throw new UsageError('redis needs one of the npm packages redis and ioredis; npm install redis');
}

const CLIENTS: Record<string, (loaded: unknown, url: string) => RedisClient> = {
  redis: (loaded, url) => (loaded as { createClient(options: object): RedisClient }).createClient({ url }),
  ioredis: (loaded, url) => {
    const { Redis } = loaded as { Redis: new (url: string, options: object) => RedisClient };
    return new Redis(url, { lazyConnect: true });
  },
};

/** The package beside the working directory or beside the command, or undefined. */
function load(name: string): unknown {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      const require = createRequire(from);
      return require(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return undefined;
}
