/**
 * A join of two tables that do not lie in one place. The near side is the smaller one: its keys are
 * read, and a filter of them goes to the far side, which sends back the rows that pass. Those
 * without a partner are false positives and are dropped here, so the answer is exact.
 *
 * `semiJoin` reads the near keys, checks both sides and plans; nothing of the far table has moved
 * then. `rows()` carries it out. The example of the survey (3.2), employees in expensive cities:
 *
 * ```ts
 * const join = await semiJoin({
 *   near: postgres({ client, table: 'cities', where: 'cost_of_living > 50000' }),
 *   far: postgres({ client: other, table: 'employees' }),
 *   on: ['city'],
 *   columns: ['name', 'city'],
 * });
 * console.log(join.plan?.reason);
 * for await (const [name, city] of join.rows()) console.log(name, city);
 * ```
 *
 * A far side that is no server is read in this process, and nothing moves: `plan` is null then. If
 * that side lies on another machine, run `candidates` (stream-filter.ts) there.
 */

import { JoinError } from './join-error.ts';
import { KEY_TYPES, type KeyType, keyText } from './join-key.ts';
import {
  type JoinPlan,
  type JoinWay,
  matchShareOf,
  planJoin,
  preciseSlice,
  sliceBitsLog2,
} from './join-plan.ts';
import type { Fields, FilteringServer, JoinSide, Row, RowCost } from './join-side.ts';
import { NearKeys, type OnRows } from './near-keys.ts';

/** A column of the key: one name for both sides, or a name for each. */
export type OnColumn = string | { readonly near: string; readonly far: string };

export interface SemiJoinOptions {
  readonly near: JoinSide;
  readonly far: JoinSide;
  readonly on: readonly OnColumn[];
  /** Columns of the far side in the answer. */
  readonly columns: readonly string[];
  /**
   * Columns of the near side in the answer. With them the answer has a row for each pair; without
   * them each far row comes once, however many partners it has.
   */
  readonly nearColumns?: readonly string[] | undefined;
  /** Types of the key's columns, for files on both sides. Default: text. */
  readonly types?: readonly KeyType[] | undefined;
  /** The way to take, instead of the one with the fewest bytes. */
  readonly way?: JoinWay | undefined;
  /**
   * The relative standard error of the planned bytes that is good enough. The far table is counted
   * whole then, and a plan that is less certain after the first slice sends a larger one, which
   * costs the server another scan. Default: one slice, which a large table answers from a sample of
   * its blocks.
   */
  readonly precision?: number | undefined;
  /** Told of the near rows as they are read. */
  readonly onNearRows?: OnRows | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface JoinReport {
  readonly way: JoinWay | 'local';
  /** Rows of the answer. */
  readonly rows: number;
  /** Far rows that came, with the false positives. */
  readonly received: number;
  readonly falsePositives: number;
  /** Bytes to the far server: the slice, and the filter or the keys. */
  readonly bytesSent: number;
  /** Bytes of the rows that came, as the protocol carries them. */
  readonly bytesReceived: number;
}

export interface SemiJoin {
  /** How the bytes move, or null if the far side is read in this process. */
  readonly plan: JoinPlan | null;
  readonly types: readonly KeyType[];
  readonly nearKeys: number;
  readonly nearRows: number;
  /** The answer: the values of `columns` and then those of `nearColumns`. */
  rows(): AsyncGenerator<Row>;
  /** Counts of the last call of `rows`. */
  report(): JoinReport;
}

export async function semiJoin(options: SemiJoinOptions): Promise<SemiJoin> {
  const { near, far, columns, nearColumns = [], signal, onNearRows } = options;
  const { nearOn, farOn, types } = await agreeOn(options, nearColumns, columns);
  const { server } = far;
  await server?.verify({ signal });

  const nearFields = fieldsOf(nearOn, nearColumns, types);
  const keys = await NearKeys.read(near, nearFields, {
    columns: nearColumns.map((column) => nearFields.names.indexOf(column)),
    signal,
    ...(onNearRows === undefined ? {} : { onRows: onNearRows }),
  });
  const fields = fieldsOf(farOn, columns, types);
  const plan = server === undefined ? null : await planFor(server, fields, keys, options);
  const counts = { rows: 0, received: 0, bytesSent: 0, bytesReceived: 0 };
  const places = columns.map((column) => fields.names.indexOf(column));

  async function* rows(): AsyncGenerator<Row> {
    Object.assign(counts, { rows: 0, received: 0, bytesSent: plan?.sliceBytes ?? 0, bytesReceived: 0 });
    let matched = 0;
    for await (const batch of batches()) {
      for (const row of batch) {
        counts.received++;
        if (plan !== null) counts.bytesReceived += wireBytes(row);
        const key = keyText(fields.keys.map((place) => row[place]));
        const partners = key === null ? undefined : keys.partners(key);
        if (partners === undefined) continue;
        matched++;
        const values = places.map((place) => row[place]);
        for (const partner of partners) {
          counts.rows++;
          yield nearColumns.length === 0 ? values : [...values, ...partner];
        }
      }
    }
    unmatched = counts.received - matched;
  }
  let unmatched = 0;

  function batches(): AsyncIterable<readonly Row[]> {
    if (plan === null || server === undefined || plan.way === 'all') return far.read(fields, { signal });
    if (plan.way === 'keys') {
      counts.bytesSent += keys.keyBytes;
      return server.readMatching(fields, keys.arrays(), { signal });
    }
    const filter = keys.filter(plan.filter);
    counts.bytesSent += filter.bytes.length;
    return server.readPassing(fields, filter, { signal });
  }

  return {
    plan,
    types,
    nearKeys: keys.size,
    nearRows: keys.rows,
    rows,
    report: () => ({ way: plan?.way ?? 'local', ...counts, falsePositives: unmatched }),
  };
}

/**
 * Sends one slice, and decides by the rows that pass it. If the plan should be more certain, a
 * larger slice follows, unless the join was given up.
 */
async function planFor(
  server: FilteringServer,
  fields: Fields,
  keys: NearKeys,
  { way, precision, signal }: SemiJoinOptions,
): Promise<JoinPlan> {
  let sliceBytes = 0;
  let cost: RowCost | undefined;
  const planBy = async (shape: { readonly bitsLog2: number; readonly hashes: number }) => {
    signal?.throwIfAborted();
    const slice = keys.filter(shape);
    sliceBytes += slice.bytes.length;
    const count = await server.count(fields, slice, { signal, sampled: precision === undefined });
    cost ??= await server.cost(fields, count.rows, { signal });
    const { rowBytes, rowsPerKey } = cost;
    const matchShare = matchShareOf(count, { rate: slice.estimatedFalsePositiveRate(), rowsPerKey });
    const farRows = count.rows;
    return planJoin({
      nearKeys: keys.size,
      keyBytes: keys.size === 0 ? 0 : keys.keyBytes / keys.size,
      farRows,
      rowBytes,
      matchShare,
      sliceBytes,
    });
  };
  let plan = await planBy({ bitsLog2: sliceBitsLog2(keys.size), hashes: 1 });
  const larger = precision === undefined ? null : preciseSlice(plan, precision);
  if (plan.way !== 'all' && larger !== null) plan = await planBy(larger);
  return way === undefined || way === plan.way ? plan : { ...plan, way, reason: 'the caller chose this way' };
}

/** Bytes of a row in PostgreSQL's protocol. */
function wireBytes(row: Row): number {
  let bytes = 7;
  for (const value of row) bytes += 4 + (value === null ? 0 : Buffer.byteLength(value));
  return bytes;
}

/** Each column once: those of the key first. */
export function fieldsOf(
  on: readonly string[],
  columns: readonly string[],
  types: readonly KeyType[],
): Fields {
  const names = [...new Set([...on, ...columns])];
  return { names, keys: on.map((column) => names.indexOf(column)), types };
}

/**
 * The columns of the key on both sides, and their types. Rejects if a side lacks a column or if the
 * types differ.
 */
export async function agreeOn(
  options: Agreement,
  nearColumns: readonly string[],
  farColumns: readonly string[],
): Promise<{ nearOn: string[]; farOn: string[]; types: KeyType[] }> {
  const { near, far, types, signal } = options;
  const on = options.on.map((column) =>
    typeof column === 'string' ? { near: column, far: column } : column,
  );
  if (on.length === 0) throw new RangeError('Cannot join: expected at least one column in `on`, got none');
  const nearOn = on.map((column) => column.near);
  const farOn = on.map((column) => column.far);
  checkTypes(types, on.length);
  const nearTypes = await near.keyTypes(nearOn, nearColumns, { signal });
  const farTypes = await far.keyTypes(farOn, farColumns, { signal });
  const common = on.map((column, i) => {
    const [one, other] = [nearTypes[i], farTypes[i]];
    if (one !== null && other !== null && one !== other) {
      throw new JoinError(
        'type',
        `Cannot join: expected columns of one type, got ${one} (${column.near} of ${near.name}) ` +
          `and ${other} (${column.far} of ${far.name})`,
      );
    }
    return one ?? other ?? types?.[i] ?? 'text';
  });
  for (const [i, type] of (types ?? []).entries()) {
    if (type !== common[i]) {
      throw new JoinError(
        'type',
        `Cannot join: expected ${nearOn[i]} to be of type ${type}, got ${common[i]} ` +
          `(${near.name}, ${far.name})`,
      );
    }
  }
  return { nearOn, farOn, types: common };
}

/** Throws unless there is a known type for each column of the key. */
export function checkTypes(types: readonly KeyType[] | undefined, columns: number): void {
  if (types === undefined) return;
  const isRight = types.length === columns && types.every((type) => KEY_TYPES.includes(type));
  if (isRight) return;
  throw new RangeError(
    `Cannot join: expected ${columns} of the types ${KEY_TYPES.join(', ')}, got ${types.join(', ')}`,
  );
}

interface Agreement {
  readonly signal?: AbortSignal | undefined;
  readonly near: JoinSide;
  readonly far: JoinSide;
  readonly on: readonly OnColumn[];
  readonly types?: readonly KeyType[] | undefined;
}
