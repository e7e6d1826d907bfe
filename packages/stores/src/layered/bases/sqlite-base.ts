/**
 * A table of a SQLite file as a base, by the class `Database` of `libsql` or `better-sqlite3`,
 * which is passed in. `libsql` comes compiled for Node 20; better-sqlite3 needs a compiler there.
 *
 * A merge copies the file, makes the changes in the copy, flushes it and renames it into place. So
 * the other tables, columns and indices stay, readers of the old file go on, and a crash leaves the
 * old file or the new one. The new file notes in a table of its own, `bloomery_layer`, which log it
 * holds up to which position.
 *
 * The identity is a hash of the size and of 16 pages. The first page has a counter that SQLite
 * increases with each change, so a base that another program has changed is noticed. A file with a
 * write-ahead log beside it cannot be merged, because the changes there are not in the file.
 *
 * libsql keeps a closed file open until the garbage collector has found its statements, so the room
 * of a replaced file is freed some time after a merge.
 */

import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { removeLeftovers, syncDirectory, temporaryName } from '@bloomery/files';
import type { Abortable, Base, Change, MergeIntoOptions } from '../base.ts';
import { LayerError } from '../layer-error.ts';
import { bytesValues, type Values } from '../values.ts';

/** The part of a database that a base uses. */
export interface SqliteConnection {
  prepare(sql: string): SqliteQuery;
  exec(sql: string): unknown;
  close(): unknown;
}

export interface SqliteQuery {
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
  run(...values: unknown[]): unknown;
  raw(toggle?: boolean): SqliteQuery;
  iterate(...values: unknown[]): Iterable<unknown>;
}

export type SqliteConstructor = new (path: string, options?: { readonly?: boolean }) => SqliteConnection;

export interface SqliteBaseOptions<V> {
  readonly path: string;
  /** The class `Database` of libsql or better-sqlite3. */
  readonly Database: SqliteConstructor;
  readonly table: string;
  /** The column of the keys, which must be unique. Default `key`. */
  readonly key?: string | undefined;
  /** The column of the values. A record whose value is NULL counts as absent. Default `value`. */
  readonly value?: string | undefined;
  /** How values are read from the bytes of the column. Default: they are bytes. */
  readonly values?: Values<V> | undefined;
}

const PAGE = 4096;
/** Pages that the identity of a file is made from. */
const SAMPLES = 16;
/** Changes that are made in one turn of the event loop; some milliseconds. */
const CHANGES_PER_TURN = 200;
const ROWS_PER_TURN = 1000;
const STAMP = 'bloomery_layer';

/** Opens a table of a SQLite file. */
export function sqliteBase<V = Uint8Array>(options: SqliteBaseOptions<V>): Base<V> {
  const { path, Database } = options;
  const values = options.values ?? (bytesValues as unknown as Values<V>);
  const [table, key, value] = [options.table, options.key ?? 'key', options.value ?? 'value'].map(quoted);
  if (!existsSync(path)) throw refusal(path, 'a file', 'none');
  const upsert = `insert into ${table} (${key}, ${value}) values (?, ?) on conflict (${key}) do update set ${value} = excluded.${value}`;
  const database = opened();
  let one: SqliteQuery | null;
  let isText: boolean;
  try {
    one = database.prepare(`select ${value} from ${table} where ${key} = ?`).raw(true);
    // SQLite refuses this if the keys are not unique.
    database.prepare(upsert);
    isText = /char|clob|text|json/i.test(declaredType());
  } catch (cause) {
    database.close();
    throw refusal(
      path,
      `a table ${table} with unique keys in ${key} and values in ${value}`,
      messageOf(cause),
      cause,
    );
  }

  return {
    get(name) {
      const row = run(() => one?.get(name)) as unknown[] | undefined;
      const bytes = bytesOf(row?.[0]);
      return bytes === undefined ? undefined : values.decode(bytes);
    },
    async *entries({ signal }: Abortable = {}) {
      const rows = run(() =>
        database.prepare(`select ${key}, ${value} from ${table}`).raw(true).iterate(),
      ) as Iterable<[unknown, unknown]>;
      let count = 0;
      for (const [name, held] of rows) {
        const bytes = bytesOf(held);
        if (bytes !== undefined) yield [textOf(name), values.decode(bytes)] as [string, V];
        if (++count % ROWS_PER_TURN !== 0) continue;
        signal?.throwIfAborted();
        await turn();
      }
    },
    count: () =>
      (run(() => database.prepare(`select count(*) from ${table}`).raw(true).get()) as [number])[0],
    identity: () => identityOf(path),
    mergedThrough: (log) => stampOf(log),
    merge: (changes, how) => mergeInto(changes, how),
    close() {
      one = null;
      database.close();
    },
  };

  function opened(): SqliteConnection {
    try {
      return new Database(path, { readonly: true });
    } catch (cause) {
      throw refusal(path, 'a SQLite file', messageOf(cause), cause);
    }
  }

  function declaredType(): string {
    const column = options.value ?? 'value';
    const rows = database.prepare('select name, type from pragma_table_info(?)').all(options.table);
    return (rows as { name: string; type: string }[]).find(({ name }) => name === column)?.type ?? '';
  }

  function stampOf(log: string): number | undefined {
    const has = run(() => database.prepare('select 1 from sqlite_master where name = ?').get(STAMP));
    if (has === undefined) return undefined;
    const row = run(() => database.prepare(`select position from ${STAMP} where log = ?`).get(log));
    return (row as { position: number } | undefined)?.position;
  }

  async function mergeInto(changes: AsyncIterable<Change<V>>, how: MergeIntoOptions): Promise<Base<V>> {
    for (const side of ['-wal', '-journal']) {
      if ((statSync(path + side, { throwIfNoEntry: false })?.size ?? 0) > 0)
        throw refusal(path, 'a file that no program is changing', `${path}${side} beside it`);
    }
    removeLeftovers(path);
    const temporary = temporaryName(path);
    try {
      await copyFile(path, temporary, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      const copy = new Database(temporary);
      try {
        await change(copy, changes, how);
      } finally {
        copy.close();
      }
      how.signal?.throwIfAborted();
      const descriptor = openSync(temporary, 'r+');
      try {
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      renameSync(temporary, path);
    } catch (error) {
      if (existsSync(temporary)) unlinkSync(temporary);
      throw error;
    }
    syncDirectory(dirname(path));
    return sqliteBase(options);
  }

  /** Makes all changes in one transaction. If it fails, the copy is thrown away. */
  async function change(
    copy: SqliteConnection,
    changes: AsyncIterable<Change<V>>,
    { log, position, signal }: MergeIntoOptions,
  ): Promise<void> {
    copy.exec('pragma journal_mode = off; pragma synchronous = off; begin');
    const set = copy.prepare(upsert);
    const remove = copy.prepare(`delete from ${table} where ${key} = ?`);
    let count = 0;
    for await (const one of changes) {
      if (one.deleted === true) remove.run(one.key);
      else set.run(one.key, columnValue(values.encode(one.value)));
      if (++count % CHANGES_PER_TURN !== 0) continue;
      signal?.throwIfAborted();
      await turn();
    }
    copy.exec(`create table if not exists ${STAMP} (log text primary key, position integer not null)`);
    copy.prepare(`insert or replace into ${STAMP} values (?, ?)`).run(log, position);
    copy.exec('commit');
  }

  function columnValue(bytes: Uint8Array): string | Uint8Array {
    return isText ? Buffer.from(bytes).toString() : Buffer.from(bytes);
  }

  function run<T>(ask: () => T): T {
    try {
      return ask();
    } catch (cause) {
      throw refusal(path, 'an answer', messageOf(cause), cause);
    }
  }
}

/** A hash of the size, of the first page and the last, and of pages between them. */
function identityOf(path: string): string {
  const hash = createHash('sha256');
  const page = Buffer.alloc(PAGE);
  const descriptor = openSync(path, 'r');
  try {
    const { size } = fstatSync(descriptor);
    hash.update(`${size}`);
    const pages = Math.ceil(size / PAGE);
    for (let i = 0; i < SAMPLES; i++) {
      const at = Math.floor((i * (pages - 1)) / (SAMPLES - 1)) * PAGE;
      hash.update(page.subarray(0, readSync(descriptor, page, 0, PAGE, at)));
    }
    return `sqlite:${hash.digest('hex').slice(0, 32)}`;
  } finally {
    closeSync(descriptor);
  }
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value === null || value === undefined) return undefined;
  if (value instanceof Uint8Array) return value;
  return Buffer.from(textOf(value));
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function refusal(path: string, expected: string, got: string, cause?: unknown): LayerError {
  return new LayerError('base', `Cannot read the base ${path}: expected ${expected}, got ${got}`, { cause });
}
