/**
 * Opens a filter on the server, and makes it if there is none.
 */

import { randomBytes } from 'node:crypto';
import { type HashOptions, hashScheme } from 'bloomery';
import { checkEviction } from '../redis/check-eviction.ts';
import { filterKeys } from '../redis/filter-keys.ts';
import { openConnection, type RedisConnection } from '../redis/redis-client.ts';
import { SharedFilterError } from '../shared-filter-error.ts';
import type { RedisFilterOptions } from '../shared-options.ts';
import { firstStage, type ServerEngine, ServerFilter } from './server-filter.ts';
import { ServerLink } from './server-link.ts';
import { SetFunctions } from './set-functions.ts';

export interface ServerFilterOptions extends RedisFilterOptions {
  /**
   * 'auto' (default): the commands BF. where the server has them, otherwise blocks. It counts when
   * the filter is made.
   */
  readonly engine?: ServerEngine | 'auto';
  /** 'wait': an answer is given when `replicas` replicas have the keys. Default 'ack'. */
  readonly durability?: 'ack' | 'wait';
  /** Uses EVAL scripts instead of functions. Default false. */
  readonly scripts?: boolean;
  /** Time of doubt after a failover, a restart or the creation of a filter. Default 5000. */
  readonly settleMs?: number;
  /** Time between two looks at the server. Default 500. */
  readonly lookMs?: number;
}

const OPTIONS = new Set([
  ...['redis', 'name', 'capacity', 'falsePositiveRate', 'key', 'seed', 'engine', 'durability', 'replicas'],
  ...['acceptEviction', 'scripts', 'settleMs', 'lookMs', 'onError', 'signal'],
]);
const VERSION = '1';

/**
 * Opens the filter of this name on the server. Resolves when the server knows it; `ready()` waits
 * until it answers more than "maybe".
 */
export async function createServerFilter(options: ServerFilterOptions): Promise<ServerFilter> {
  const { redis, name, capacity, falsePositiveRate, settleMs = 5000, lookMs = 500 } = options;
  const replicas = checked(options);
  const hash: HashOptions = options.key === undefined ? { seed: options.seed ?? 0 } : { key: options.key };
  const scheme = hashScheme(hash);
  const size = { capacity, falsePositiveRate };
  const key = `${filterKeys(name).prefix}:set`;
  // The first stage checks capacity and rate, and says what is wrong with them.
  firstStage('blocks', size);
  const make = async (functions: SetFunctions, engine: ServerEngine, accepted: string) => {
    const lineage = randomBytes(4).toString('hex');
    const { blocks, capacity: room } = firstStage(engine, size);
    const numbers = [String(capacity), String(falsePositiveRate)];
    const stage = [String(blocks), String(room)];
    await functions.call('make', key, [
      key,
      lineage,
      VERSION,
      scheme.id,
      ...numbers,
      engine,
      accepted,
      ...stage,
    ]);
  };
  let engine: ServerEngine = 'blocks';
  const connection = await openConnection(redis);
  try {
    if (options.signal?.aborted) throw options.signal.reason;
    await checkEviction(connection, options.acceptEviction ?? false);
    engine = await engineFor(connection, options.engine ?? 'auto');
    await make(new SetFunctions(connection, options.scripts), engine, '');
  } catch (error) {
    if (error instanceof SharedFilterError) throw error;
    const { message } = error as Error;
    throw new SharedFilterError('unavailable', `Cannot open the filter ${name} on the server: ${message}`, {
      cause: error,
    });
  } finally {
    connection.close();
  }
  const link = new ServerLink({
    key,
    scheme: scheme.id,
    open: () => openConnection(redis),
    usesScripts: options.scripts ?? false,
    replicas,
    settleMs,
    lookMs,
    onError: options.onError ?? (() => {}),
    make: (functions, accepted) => make(functions, engine, accepted),
  });
  try {
    await link.look();
  } catch (error) {
    link.close();
    throw error;
  }
  void link.run();
  return new ServerFilter(name, link, scheme);
}

function checked(options: ServerFilterOptions): number {
  const wrong = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (wrong !== undefined)
    throw new TypeError(`Cannot open a filter on the server: got an unknown option ${wrong}`);
  const { durability = 'ack', engine = 'auto', settleMs = 1, lookMs = 1 } = options;
  if (!['ack', 'wait'].includes(durability))
    throw new RangeError(
      `Cannot open a filter on the server: expected durability 'ack' or 'wait', got ${durability}`,
    );
  if (!['auto', 'blocks', 'bf'].includes(engine))
    throw new RangeError(
      `Cannot open a filter on the server: expected engine 'auto', 'blocks' or 'bf', got ${engine}`,
    );
  for (const [what, value] of Object.entries({ settleMs, lookMs }))
    if (!(typeof value === 'number' && value > 0))
      throw new RangeError(`Cannot open a filter on the server: expected a positive ${what}, got ${value}`);
  const replicas = durability === 'wait' ? (options.replicas ?? 1) : 0;
  if (durability === 'wait' && !(Number.isInteger(replicas) && replicas > 0))
    throw new RangeError(
      `Cannot open a filter on the server: expected replicas from 1 on, got ${options.replicas}`,
    );
  return replicas;
}

async function engineFor(connection: RedisConnection, wanted: ServerEngine | 'auto'): Promise<ServerEngine> {
  if (wanted === 'blocks') return wanted;
  const [found] = (await connection.call(['COMMAND', 'INFO', 'BF.MADD'])) as unknown[];
  const hasModule = found !== null && found !== undefined;
  if (wanted === 'bf' && !hasModule) {
    throw new SharedFilterError(
      'unavailable',
      'Cannot use the commands BF. of the server: expected Redis 8 or the module RedisBloom, got a server without them',
    );
  }
  return hasModule ? 'bf' : 'blocks';
}
