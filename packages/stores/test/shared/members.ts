/**
 * Common parts of the tests of the shared filter: members with short times, on either client.
 */

import type { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import {
  createSharedFilter,
  type RedisClient,
  type SharedFilter,
  type SharedFilterOptions,
} from '../../src/shared/index.ts';

export const CLIENTS = ['redis', 'ioredis'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** A client that is never connected itself: the filter takes its settings. */
export function clientFor(name: ClientName, url: string): RedisClient {
  return name === 'redis' ? createClient({ url }) : new Redis(url, { lazyConnect: true });
}

/** Times of a fleet whose members wait for each other for a moment only. */
export const QUICK_TIMES = {
  lookMs: 30,
  settleMs: 200,
  memberMs: 60_000,
  leaseMs: 2000,
  snapshotEntries: 50,
};

export async function openMember(
  { url }: Pick<RedisServer, 'url'>,
  options: Partial<SharedFilterOptions> & { readonly client?: ClientName } = {},
): Promise<SharedFilter> {
  const { client = 'ioredis', timing, ...rest } = options;
  return createSharedFilter({
    redis: clientFor(client, url),
    name: 'users',
    capacity: 1000,
    falsePositiveRate: 0.001,
    // A busy machine must not make a filter old, except in the tests about that.
    maxAgeMs: 120_000,
    ...rest,
    timing: { ...QUICK_TIMES, ...timing },
  });
}

export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

/** The number of keys that the filter says are certainly not there. */
export function missing(filter: SharedFilter, keys: readonly string[]): number {
  return filter.hasMany(keys).reduce((sum, answer) => sum + 1 - answer, 0);
}
