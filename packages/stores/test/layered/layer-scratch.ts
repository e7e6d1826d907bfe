/** Folders, SQLite bases and checks that the tests of layers share. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, expect } from 'vitest';
import { type SqliteConstructor, sqliteBase } from '../../src/layered/bases/sqlite-base.ts';
import { LayerError, type LayerErrorCode } from '../../src/layered/layer-error.ts';
import { textValues } from '../../src/layered/values.ts';

/** A folder that is removed after the tests of the file. */
export function scratchFolder(where = tmpdir()): string {
  const folder = mkdtempSync(join(where, 'bloomery-layer-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a SQLite file with the records `key0`, `key1`, … and the values `base0`, `base1`, … */
export function createSqlite(path: string, records: number): void {
  const database = new Database(path);
  database.exec(
    "create table records (key text primary key, value text, note text default 'kept') without rowid; begin",
  );
  const insert = database.prepare('insert into records (key, value) values (?, ?)');
  for (let i = 0; i < records; i++) insert.run(`key${i}`, `base${i}`);
  database.exec('commit');
  database.close();
}

/** The table of `createSqlite` as a base with texts. */
export function openSqlite(path: string) {
  const Class = Database as unknown as SqliteConstructor;
  return sqliteBase({ path, Database: Class, table: 'records', values: textValues });
}

/** Expects a rejection with a `LayerError` of this code and a message of one line. */
export async function expectLayerError(
  promise: Promise<unknown>,
  code: LayerErrorCode,
  message: RegExp,
): Promise<LayerError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LayerError);
  const found = error as LayerError;
  expect([found.code, found.message.includes('\n')]).toEqual([code, false]);
  expect(found.message).toMatch(message);
  return found;
}
