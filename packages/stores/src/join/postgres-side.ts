/**
 * A table of PostgreSQL as a side of a join. The client is passed in (`pg`), stays the caller's,
 * and is used for one statement at a time.
 *
 * With `copy` (the function `to` of pg-copy-streams) all rows are read by COPY. It takes no
 * parameters, so it cannot carry a filter: it is for a process beside the database, which filters
 * by itself.
 *
 * Names of tables and columns are looked up in the catalog first, and quoted. Only `where` is SQL
 * of the caller.
 */

import { JoinError } from './join-error.ts';
import { ARRAY_TYPES, familyOf, KEY_TYPES, type KeyType } from './join-key.ts';
import type { Fields, FilteringServer, JoinSide, ReadOptions, SliceCount } from './join-side.ts';
import { checkHashes } from './postgres-hash-check.ts';
import { type CopyTo, type PostgresClient, PostgresSession } from './postgres-session.ts';

export interface PostgresOptions {
  readonly client: PostgresClient;
  /** The table or view, as it is written in SQL: `cities`, `public.cities`, `"Cities"`. */
  readonly table: string;
  /** A condition in SQL. It is put into the query as it is, so it must be trusted. */
  readonly where?: string | undefined;
  /** Reads all rows by COPY. A reader that stops early must end the client. */
  readonly copy?: CopyTo | undefined;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly deterministic: boolean;
}

/** Rows that tell the mean size of a row. */
const SIZED_ROWS = 5_000;
/** Blocks of a sample: 16 MB. A table of less than four times as many is counted whole. */
const SAMPLE_BLOCKS = 2_000;
const BLOCK_BYTES = 8_192;
const SAMPLE_GROUPS = 32;
const LEAST_SAMPLED_ROWS = 2_000;
/** A message of the protocol: its type and length, and a number of fields; then 4 bytes a field. */
const ROW_HEAD = 7;
const FIELD_HEAD = 4;

/** A table as a side of a join. */
export function postgres({ client, table, where, copy }: PostgresOptions): JoinSide {
  const session = new PostgresSession(client);
  // A comment at the end of the condition ends with its line.
  const condition = where === undefined ? 'true' : `(${where}\n)`;
  let resolved: string | undefined;

  async function name(options: ReadOptions): Promise<string> {
    if (resolved !== undefined) return resolved;
    const [[found]] = await session.rows('select to_regclass($1)::text', [table], options);
    if (found === null)
      throw new JoinError('column', `Cannot join: expected a table ${table}, got none of this name`);
    resolved = found;
    return found;
  }

  async function columnsOf(options: ReadOptions): Promise<Column[]> {
    await name(options);
    const found = await session.rows(
      `select a.attname,
              case when t.typnamespace = 'pg_catalog'::regnamespace then t.typname
                   else format_type(t.oid, null) end,
              coalesce(c.collisdeterministic, true)
         from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
         left join pg_catalog.pg_collation c on c.oid = a.attcollation
        where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum`,
      [table],
      options,
    );
    return found.map(([column, type, flag]) => ({ name: column, type, deterministic: flag === 't' }));
  }

  const select = async ({ names }: Fields, options: ReadOptions, more = 'true') =>
    `select ${names.map(quoted).join(', ')} from ${await name(options)} where ${condition} and ${more}`;
  const keyColumns = ({ names, keys }: Fields) => keys.map((place) => quoted(names[place]));

  const server: FilteringServer = {
    verify: (options) => checkHashes((text) => session.rows(text, [], options)),

    async count(fields, slice, options) {
      const from = await name(options);
      const passes = slice.condition(keyColumns(fields));
      const counts = `count(*), count(*) filter (where ${passes})`;
      const bits = [Buffer.from(slice.bytes.buffer)];
      const share = options.sampled ? await sampleShare(session, table, options) : 1;
      if (share < 1) {
        const groups = await session.rows(
          `select ${counts} from ${from} tablesample system (${(100 * share).toPrecision(8)})
            where ${condition} group by mod((ctid::text::point)[0]::int8, ${SAMPLE_GROUPS})`,
          bits,
          options,
        );
        const count = scaledUp(groups, share);
        if (count !== null) return count;
      }
      const [[rows, passed]] = await session.rows(
        `select ${counts} from ${from} where ${condition}`,
        bits,
        options,
      );
      return { rows: Number(rows), passed: Number(passed) };
    },

    async cost({ names, keys }, count, options) {
      const bytes = names.map((column) => `coalesce(octet_length(${quoted(column)}::text), 0)`);
      const from = await name(options);
      const [[kind, distinct, frequencies]] = await session.rows(
        `select c.relkind, s.n_distinct, array_to_string(s.most_common_freqs, ' ')
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
           left join pg_catalog.pg_stats s
             on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = $2
            and s.inherited = (c.relkind = 'p')
          where c.oid = to_regclass($1)`,
        [table, names[keys[0]]],
        options,
      );
      // Only tables can be sampled. For a view, the first rows stand for all.
      const isTable = ['r', 'm', 'p'].includes(kind) && count > 4 * SIZED_ROWS;
      const percent = ((100 * SIZED_ROWS) / Math.max(1, count)).toPrecision(6);
      const sample = isTable ? ` tablesample system (${percent})` : '';
      const [[mean]] = await session.rows(
        `select avg(bytes) from (select ${bytes.join(' + ')} bytes from ${from}${sample}
           where ${condition} limit ${4 * SIZED_ROWS}) sampled`,
        [],
        options,
      );
      const head = ROW_HEAD + FIELD_HEAD * names.length;
      const common = frequencies ? frequencies.split(' ').map(Number) : [];
      return {
        rowBytes: head + Number(mean ?? 0),
        rowsPerKey: rowsPerKey(count, Number(distinct ?? -1), common),
      };
    },

    async *readPassing(fields, filter, options) {
      const condition = filter.condition(keyColumns(fields), `${FILTER}.bits`);
      const text = withFilter(await select(fields, options, condition));
      yield* session.cursor(text, [Buffer.from(filter.bytes.buffer)], options);
    },

    async *readMatching(fields, keys, options) {
      const arrays = fields.types.map((type, i) => `pg_catalog.unnest($${i + 1}::${ARRAY_TYPES[type]})`);
      const columns = keyColumns(fields).map((column, i) =>
        fields.types[i] === 'text' ? `${column}::text` : column,
      );
      const among = `(${columns.join(', ')}) in (select * from rows from (${arrays.join(', ')}))`;
      yield* session.cursor(await select(fields, options, among), [...keys], options);
    },
  };

  return {
    name: `PostgreSQL table ${table}`,
    server,
    async keyTypes(on, columns, options) {
      const found = await columnsOf(options);
      for (const column of [...on, ...columns]) {
        if (!found.some((one) => one.name === column)) {
          const all = found.map((one) => one.name).join(', ');
          throw new JoinError(
            'column',
            `Cannot join: expected a column ${column}, got only ${all} (PostgreSQL table ${table})`,
          );
        }
      }
      return on.map((column) => typeOf(found.find((one) => one.name === column)!, table));
    },
    async *read(fields, options) {
      const text = await select(fields, options);
      yield* copy === undefined ? session.cursor(text, [], options) : session.copy(text, copy, options);
    },
  };
}

/** The name of the filter in a query. A far table of this name would be an error of the server. */
const FILTER = 'bloomery_filter';

/**
 * The query, with the parameter as a row beside it. PostgreSQL puts a parameter into the plan as a
 * constant, and copies it for each place that names it. A filter of 2 MB with seven hashes would be
 * seven filters in seven places of memory, which no cache holds. As the value of a row it exists
 * once: the condition took 3.6 times the CPU of a bare scan, and 4.7 times with the copies
 * (bench/results/stores-join-cpu.md). `offset 0` keeps the planner from merging the two.
 */
function withFilter(query: string): string {
  return (
    `select passing.* from (select $1::bytea bits offset 0) ${FILTER} ` +
    `cross join lateral (${query} offset 0) passing`
  );
}

/** The share of a table's blocks in a sample: 1 for small tables, views and partitioned tables. */
async function sampleShare(session: PostgresSession, table: string, options: ReadOptions): Promise<number> {
  const [[kind, bytes]] = await session.rows(
    `select c.relkind, case when c.relkind in ('r', 'm') then pg_relation_size(c.oid) else 0 end
       from pg_catalog.pg_class c where c.oid = to_regclass($1)`,
    [table],
    options,
  );
  const blocks = Number(bytes) / BLOCK_BYTES;
  return ['r', 'm'].includes(kind) && blocks >= 4 * SAMPLE_BLOCKS ? SAMPLE_BLOCKS / blocks : 1;
}

/** The counts of the whole table, or null if the sample has too few rows. */
function scaledUp(found: readonly (readonly string[])[], share: number): SliceCount | null {
  const groups = Array.from({ length: SAMPLE_GROUPS }, (_, i) => ({
    rows: Number(found[i]?.[0] ?? 0),
    passed: Number(found[i]?.[1] ?? 0),
  }));
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  if (rows < LEAST_SAMPLED_ROWS) return null;
  const passed = groups.reduce((sum, group) => sum + group.passed, 0);
  return { rows: Math.round(rows / share), passed: passed / share, sample: { share, groups } };
}

function typeOf({ name, type, deterministic }: Column, table: string): KeyType {
  const family = familyOf(type);
  if (family === undefined) {
    throw new JoinError(
      'type',
      `Cannot join on ${name}: expected a type of the families ${KEY_TYPES.join(', ')}, ` +
        `got ${type} (PostgreSQL table ${table})`,
    );
  }
  if (!deterministic) {
    throw new JoinError(
      'collation',
      `Cannot join on ${name}: expected a deterministic collation, got one that calls unequal texts ` +
        `equal and changes their hashes (PostgreSQL table ${table})`,
    );
  }
  return family;
}

/**
 * Rows that share the key of a row, on average over rows. `distinct` is PostgreSQL's n_distinct: a
 * number of keys, or, if negative, a share of the rows. `common` are the shares of the rows that
 * have the most common keys.
 */
function rowsPerKey(rows: number, distinct: number, common: readonly number[]): number {
  const keys = distinct < 0 ? -distinct * rows : distinct;
  let share = 0;
  let squares = 0;
  for (const one of common) {
    share += one;
    squares += one * one;
  }
  const others = Math.max(0, 1 - share);
  const eachOther = (others * rows) / Math.max(1, keys - common.length);
  return Math.max(1, rows * squares + others * Math.max(1, eachOther));
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
