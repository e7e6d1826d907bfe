/**
 * A table of PostgreSQL, such as one of a replica, as a base, by a client or a pool of `pg`, which
 * is passed in. It is only read. Its changes can be listed, and exported, but not merged from here:
 * a replica takes no writes.
 *
 * PostgreSQL goes on changing below the layer. A changed record hides the row of its key, and all
 * other rows are read as they are at that moment.
 */

import type { Abortable, Base } from '../base.ts';
import { LayerError } from '../layer-error.ts';
import { bytesValues, type Values } from '../values.ts';

/** The part of a client of `pg` that a base uses. */
export interface PostgresQueries {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

export interface PostgresBaseOptions<V> {
  readonly client: PostgresQueries;
  readonly table: string;
  /** Default `key`. */
  readonly key?: string | undefined;
  /** A record whose value is NULL counts as absent. Default `value`. */
  readonly value?: string | undefined;
  /** How values are read from bytes: those of bytea, else the text. Default: they are bytes. */
  readonly values?: Values<V> | undefined;
  /** The name of the base in the log. Default: the database and the table. */
  readonly identity?: string | undefined;
}

const PAGE_ROWS = 1000;

export function postgresBase<V = Uint8Array>(options: PostgresBaseOptions<V>): Base<V> {
  const { client } = options;
  const values = options.values ?? (bytesValues as unknown as Values<V>);
  const table = options.table.split('.').map(quoted).join('.');
  const [key, value] = [options.key ?? 'key', options.value ?? 'value'].map(quoted);

  return {
    async get(name, { signal }: Abortable = {}) {
      signal?.throwIfAborted();
      const [row] = await ask(`select ${value} as value from ${table} where ${key} = $1`, [name]);
      const bytes = bytesOf(row?.value);
      return bytes === undefined ? undefined : values.decode(bytes);
    },
    async *entries({ signal }: Abortable = {}) {
      const columns = `select ${key} as key, ${value} as value from ${table}`;
      const order = `order by ${key} limit ${PAGE_ROWS}`;
      for (let rows = await ask(`${columns} ${order}`); rows.length > 0; ) {
        for (const row of rows) {
          const bytes = bytesOf(row.value);
          if (bytes !== undefined) yield [String(row.key), values.decode(bytes)] as [string, V];
        }
        signal?.throwIfAborted();
        if (rows.length < PAGE_ROWS) return;
        rows = await ask(`${columns} where ${key} > $1 ${order}`, [rows[rows.length - 1].key]);
      }
    },
    count: async () => Number((await ask(`select count(*) as count from ${table}`))[0].count),
    async identity() {
      if (options.identity !== undefined) return options.identity;
      return `postgres:${(await ask('select current_database() as name'))[0].name}/${options.table}`;
    },
  };

  async function ask(text: string, parameters: unknown[] = []): Promise<Record<string, unknown>[]> {
    try {
      return (await client.query(text, parameters)).rows;
    } catch (cause) {
      const { message, code } = cause as Error & { code?: string };
      throw new LayerError(
        'base',
        `Cannot read the base ${options.table}: expected rows, got ${message || code} (PostgreSQL)`,
        { cause },
      );
    }
  }
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value === null || value === undefined) return undefined;
  if (value instanceof Uint8Array) return value;
  return Buffer.from(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
