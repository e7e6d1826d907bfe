/**
 * Joins a shared filter for the time of one command, and turns its errors into one line that names
 * the server without its password.
 */

import {
  createSharedFilter,
  type SharedFilter,
  SharedFilterError,
  type SharedFilterOptions,
} from '@bloomery/stores/shared';
import { readSecretKey } from '../files/secret-key-file.ts';
import { startProgress } from '../terminal/progress.ts';
import { UsageError } from '../usage-error.ts';
import { redisClient, redisUrl, withoutPassword } from './redis-url.ts';

/** Options of every `bloomery redis` command. */
export interface SharedOptions {
  readonly url?: string;
  readonly keyFile?: string;
  readonly seed?: bigint;
  readonly acceptEviction?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}

/** The size of a filter that a command may create. Without it a filter must exist. */
interface NewSize {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/** Any size: that of the filter on the server counts. */
const ANY_SIZE: NewSize = { capacity: 1000, falsePositiveRate: 0.01 };

interface SharedWork extends SharedOptions {
  readonly name: string;
  readonly size?: NewSize;
  readonly extra?: Partial<SharedFilterOptions>;
}

/** Opens the filter, does the work and leaves. */
export async function withSharedFilter(
  { name, size, extra, ...options }: SharedWork,
  work: (filter: SharedFilter) => Promise<void>,
): Promise<void> {
  const url = redisUrl(options.url);
  let filter: SharedFilter | undefined;
  try {
    filter = await createSharedFilter({
      redis: redisClient(url),
      name,
      ...(size ?? ANY_SIZE),
      create: size !== undefined,
      // A command that ends soon is not the one to restore a filter.
      restore: false,
      acceptEviction: options.acceptEviction ?? false,
      ...hashOf(options),
      ...extra,
    });
    await work(filter);
  } catch (error) {
    throw oneLine(error, name, url);
  } finally {
    await filter?.close({ timeoutMs: 1000 });
  }
}

/** Waits until the filter answers more than "maybe". */
export async function untilLive(filter: SharedFilter, { timeout, json }: SharedOptions): Promise<void> {
  if (filter.state === 'live') return;
  const progress = startProgress({ what: `waiting for ${filter.name}`, unit: 'steps', enabled: !json });
  try {
    await filter.ready({ timeoutMs: 1000 * timeout });
  } catch (error) {
    if (!(error instanceof SharedFilterError && error.code === 'timeout')) throw error;
    throw new UsageError(
      `${filter.name} is ${filter.state} after ${timeout} s, and would answer "maybe" to everything; --timeout waits longer`,
    );
  } finally {
    progress.stop();
  }
}

function hashOf({ keyFile, seed }: SharedOptions): Pick<SharedFilterOptions, 'key' | 'seed'> {
  if (keyFile !== undefined) {
    if (seed !== undefined) throw new UsageError('--seed is for filters without a --key-file');
    return { key: readSecretKey(keyFile) };
  }
  return seed === undefined ? {} : { seed };
}

/** The error as one line. Errors that are not about the filter or its server stay as they are. */
function oneLine(error: unknown, name: string, url: string): unknown {
  if (error instanceof RangeError && error.message.startsWith('Cannot name a shared filter')) {
    return new UsageError(
      `${JSON.stringify(name)} is no name of a filter; it has 1 to 200 characters without braces and blanks`,
    );
  }
  if (!(error instanceof SharedFilterError)) return error;
  return new UsageError(textOf(error, name, withoutPassword(url)), { cause: error });
}

function textOf(error: SharedFilterError, name: string, server: string): string {
  switch (error.code) {
    case 'missing':
      return `there is no filter ${name} on ${server}; bloomery redis attach ${name} --capacity KEYS makes one`;
    case 'eviction':
      return `${server} deletes keys when its memory is full, and ${name} with them; set its maxmemory-policy to noeviction, or give --accept-eviction`;
    case 'scheme':
      return `${name} on ${server} has another hash; give its --key-file or its --seed`;
    default:
      return `${server} cannot be used: ${reasonOf(error)}`;
  }
}

function reasonOf({ message, cause }: SharedFilterError): string {
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  if (/WRONGPASS|NOAUTH|invalid password/i.test(reason)) return `wrong user or password (${reason})`;
  if (/NOPERM/.test(reason)) return `the user lacks a right (${reason})`;
  return reason;
}
