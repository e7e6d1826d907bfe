/**
 * A table of SQLite as a side of a join, by a database of `libsql` or `better-sqlite3`, which is
 * passed in. `libsql` comes compiled for Node 20; better-sqlite3 needs a compiler there.
 *
 * SQLite does not hold its columns to their types, so each value of a key is checked. Texts are
 * compared byte for byte: a table with another collation, such as NOCASE, is refused.
 */

import { JoinError } from './join-error.ts';
import { canonicalPart, type KeyType } from './join-key.ts';
import type { Fields, JoinSide, ReadOptions, Row } from './join-side.ts';

/** The part of a database that a join uses. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
}

interface SqliteStatement {
  all(...values: unknown[]): unknown[];
  safeIntegers(toggle?: boolean): SqliteStatement;
  raw(toggle?: boolean): SqliteStatement;
  iterate(...values: unknown[]): Iterable<unknown>;
}

export interface SqliteOptions {
  readonly database: SqliteDatabase;
  readonly table: string;
  /** A condition in SQL. It is put into the query as it is, so it must be trusted. */
  readonly where?: string | undefined;
}

const BATCH = 10_000;

/** A table as a side of a join. */
export function sqlite({ database, table, where }: SqliteOptions): JoinSide {
  const name = `SQLite table ${table}`;
  return {
    name,
    async keyTypes(on, columns) {
      const found = database.prepare('select name, type from pragma_table_xinfo(?)').all(table) as {
        name: string;
        type: string;
      }[];
      if (found.length === 0)
        throw new JoinError(
          'column',
          `Cannot join: expected a table ${table}, got none of this name (SQLite)`,
        );
      for (const column of [...on, ...columns]) {
        if (!found.some((one) => one.name === column)) {
          const all = found.map((one) => one.name).join(', ');
          throw new JoinError(
            'column',
            `Cannot join: expected a column ${column}, got only ${all} (${name})`,
          );
        }
      }
      const made = database
        // Names of tables have no case, here as in the pragma above.
        .prepare('select sql from sqlite_master where name = ? collate nocase')
        .all(table) as {
        sql: string | null;
      }[];
      if (/\bcollate\s+["'`[]?(?!binary)\w/i.test(made[0]?.sql ?? '')) {
        throw new JoinError(
          'collation',
          `Cannot join: expected the collation BINARY, got a table with another one (${name})`,
        );
      }
      return on.map((column) => typeOf(found.find((one) => one.name === column)!.type));
    },
    read: (fields, options) => readAll(fields, options),
  };

  async function* readAll(fields: Fields, { signal }: ReadOptions): AsyncGenerator<readonly Row[]> {
    const columns = fields.names.map(quoted).join(', ');
    const condition = where === undefined ? '' : ` where ${where}`;
    const statement = database.prepare(`select ${columns} from ${quoted(table)}${condition}`);
    const rows = statement.safeIntegers(true).raw(true).iterate() as Iterable<unknown[]>;
    let batch: Row[] = [];
    for (const values of rows) {
      const row = values.map(textOf);
      for (const [i, place] of fields.keys.entries()) {
        const value = row[place];
        if (value !== null) row[place] = keyPart(fields.types[i], values[place], value, fields.names[place]);
      }
      batch.push(row);
      if (batch.length < BATCH) continue;
      signal?.throwIfAborted();
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  function keyPart(type: KeyType, value: unknown, text: string, column: string): string {
    const where = `column ${column} of ${name}`;
    const isText = typeof value === 'string';
    // An integer in a text column is another value than its digits, also for SQLite itself.
    const fits = type === 'text' ? isText : type === 'bytea' ? value instanceof Uint8Array : true;
    if (!fits) {
      const got = value instanceof Uint8Array ? 'a blob' : isText ? 'a text' : 'a number';
      throw new JoinError('value', `Cannot join: expected a key of type ${type}, got ${got} (${where})`);
    }
    return canonicalPart(type, text, where);
  }
}

/** The family by the name that the column was declared with; uuids are texts in SQLite. */
function typeOf(declared: string): KeyType | null {
  if (/int/i.test(declared)) return 'integer';
  if (/uuid/i.test(declared)) return 'uuid';
  if (/char|clob|text/i.test(declared)) return 'text';
  return /blob/i.test(declared) ? 'bytea' : null;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
