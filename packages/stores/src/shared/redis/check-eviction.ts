/**
 * Refuses a server that may delete a filter when its memory is full. Policies that start with
 * `volatile-` delete only keys that expire: leases and uploads, which may be lost at any time.
 */

import { SharedFilterError } from '../shared-filter-error.ts';
import type { RedisConnection } from './redis-client.ts';
import { textOf } from './replies.ts';

export async function checkEviction(connection: RedisConnection, isAccepted: boolean): Promise<void> {
  const info = textOf(await connection.call(['INFO', 'memory']));
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1] ?? 'noeviction';
  if (isAccepted || !policy.startsWith('allkeys-')) return;
  throw new SharedFilterError(
    'eviction',
    `Cannot keep a filter in Redis: expected maxmemory-policy noeviction or volatile-*, got ${policy} ` +
      '(it deletes keys, and with them the filter; acceptEviction: true accepts that)',
  );
}
