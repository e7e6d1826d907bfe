/**
 * Opens a shared filter, and creates it if there is none.
 */

import { randomBytes } from 'node:crypto';
import { type HashOptions, hashScheme } from 'bloomery';
import { LogReader } from './log-reader.ts';
import { LogWriter } from './log-writer.ts';
import { checkEviction } from './redis/check-eviction.ts';
import { filterKeys } from './redis/filter-keys.ts';
import { openConnection, openLightConnection, type RedisConnection } from './redis/redis-client.ts';
import { lookAtServer } from './redis/replies.ts';
import { SharedFilter } from './shared-filter.ts';
import { SharedFilterError } from './shared-filter-error.ts';
import {
  DEFAULT_MAX_AGE_MS,
  DEFAULT_MAX_PENDING,
  DEFAULT_TIMING,
  type SharedFilterOptions,
} from './shared-options.ts';
import { SharedState, type StateSettings } from './shared-state.ts';
import { SnapshotUpload } from './snapshot-upload.ts';
import { StagedFilter } from './staged-filter.ts';

const OPTIONS = new Set([
  ...['redis', 'name', 'capacity', 'falsePositiveRate', 'key', 'seed', 'durability', 'replicas', 'maxAgeMs'],
  ...['create', 'restore', 'acceptEviction', 'maxPending', 'onError', 'signal', 'timing'],
]);
/** A value in Redis has at most 512 MiB. */
const MOST_BYTES = 512 * 1024 * 1024;

/**
 * Opens the filter of this name. Resolves when it is loaded; a filter that was just created, or
 * whose server has just been replaced, is 'unsure' for some seconds more (`ready()` waits for it).
 * Rejects if the server cannot be reached, may evict keys, or has a filter by another hash.
 */
export async function createSharedFilter(options: SharedFilterOptions): Promise<SharedFilter> {
  return openSharedFilter(options, (open) => open(options.redis));
}

/** Connects to the server of a filter, by a function that is given a client and a place. */
type Connect = (open: typeof openConnection) => Promise<RedisConnection>;

/** The same by connections that the caller opens. */
export async function openSharedFilter(
  options: SharedFilterOptions,
  connect: Connect,
): Promise<SharedFilter> {
  const { settings, member, replicas } = checked(options, connect);
  const state = new SharedState(settings);
  await begin(state, options, member);
  const writer = new LogWriter(state, { member, replicas, restores: options.restore ?? true });
  const reader = new LogReader(state, () => writer.look());
  const loaded = firstLoad(state, options);
  void reader.run();
  void writer.run();
  try {
    await loaded;
  } catch (error) {
    state.isClosed = true;
    reader.close();
    await writer.close();
    throw error;
  }
  const maxPending = options.maxPending ?? DEFAULT_MAX_PENDING;
  return new SharedFilter(options.name, { state, reader, writer, maxPending });
}

function checked(options: SharedFilterOptions, connect: Connect) {
  const wrong = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (wrong !== undefined) throw new TypeError(`Cannot open a shared filter: got an unknown option ${wrong}`);
  const { name, capacity, falsePositiveRate, key, seed, durability = 'ack' } = options;
  const { maxAgeMs = DEFAULT_MAX_AGE_MS, maxPending = DEFAULT_MAX_PENDING, timing } = options;
  if (durability !== 'ack' && durability !== 'wait')
    throw new RangeError(
      `Cannot open a shared filter: expected durability 'ack' or 'wait', got ${durability}`,
    );
  const replicas = durability === 'wait' ? (options.replicas ?? 1) : 0;
  if (!(Number.isInteger(replicas) && replicas >= 0) || (durability === 'wait' && replicas === 0))
    throw new RangeError(`Cannot open a shared filter: expected replicas from 1 on, got ${options.replicas}`);
  for (const [what, value] of Object.entries({ maxAgeMs, maxPending, ...timing }))
    if (!(typeof value === 'number' && value > 0))
      throw new RangeError(`Cannot open a shared filter: expected a positive ${what}, got ${value}`);
  const hash: HashOptions = key === undefined ? { seed: seed ?? 0 } : { key };
  // The first stage checks capacity and rate, and says what is wrong with them.
  const { byteLength } = new StagedFilter({ capacity, falsePositiveRate }, hash);
  if (byteLength >= MOST_BYTES) {
    throw new RangeError(
      `Cannot open a shared filter: expected at most ${MOST_BYTES} bytes in one value of Redis, got ${byteLength}`,
    );
  }
  const settings: StateSettings = {
    keys: filterKeys(name),
    plan: { capacity, falsePositiveRate, scheme: hashScheme(hash).id },
    hash,
    timing: { ...DEFAULT_TIMING, ...timing },
    maxAgeMs,
    most: maxPending,
    open: () => connect(openConnection),
    openLight: () => connect(openLightConnection),
    onError: options.onError ?? (() => {}),
  };
  return { settings, replicas, member: randomBytes(8).toString('hex') };
}

/** Looks at the server before anything runs: wrong settings are errors of the caller's. */
async function begin(state: SharedState, options: SharedFilterOptions, member: string): Promise<void> {
  const { keys, plan } = state.settings;
  const connection = await state.settings.open();
  try {
    await checkEviction(connection, options.acceptEviction ?? false);
    const { meta, log } = await lookAtServer(connection, keys);
    if (meta !== null && meta.plan.scheme !== plan.scheme) {
      throw new SharedFilterError(
        'scheme',
        `Cannot open the shared filter ${options.name}: expected hashes by ${plan.scheme}, got a filter by ${meta.plan.scheme}`,
      );
    }
    if (meta !== null && log !== null) return;
    if (options.create === false) {
      throw new SharedFilterError(
        'missing',
        `Cannot open the shared filter ${options.name}: expected one on the server, got none`,
      );
    }
    const lineage = randomBytes(4).toString('hex');
    const filter = { lineage, epoch: 1, base: 1, size: plan, scheme: plan.scheme, upload: '' };
    await new SnapshotUpload(state, member).create(connection, filter);
  } catch (error) {
    if (error instanceof SharedFilterError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SharedFilterError('unavailable', `Cannot open the shared filter ${options.name}: ${reason}`, {
      cause: error,
    });
  } finally {
    connection.close();
  }
}

/** Resolves when the filter is loaded, and rejects with the first error before that. */
async function firstLoad(state: SharedState, { signal }: SharedFilterOptions): Promise<void> {
  let unwatch = () => {};
  let abort = () => {};
  try {
    await new Promise<void>((resolve, reject) => {
      abort = () => reject(signal?.reason);
      signal?.addEventListener('abort', abort);
      if (signal?.aborted) abort();
      unwatch = state.watch(() => {
        if (state.filter !== null && !state.isLoading) resolve();
        else if (state.lastError !== null) reject(state.lastError);
      });
    });
  } finally {
    unwatch();
    signal?.removeEventListener('abort', abort);
  }
}
