import Database from 'libsql';
import { expect, test } from 'vitest';
import type { KeyType } from './join-key.ts';
import type { Row } from './join-side.ts';
import { sqlite } from './sqlite-side.ts';

function side(sql: string, table = 't', where?: string) {
  const database = new Database(':memory:');
  database.exec(sql);
  return sqlite({ database, table, where });
}

async function read(one: ReturnType<typeof side>, names: string[], type: KeyType): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of one.read({ names, keys: [0], types: [type] }, {})) rows.push(...batch);
  return rows;
}

test('sqlite takes types from declarations, and values in their form', async () => {
  const one = side(
    `create table t(i integer, v varchar(9), u uuid, b blob, any);
     insert into t values (9007199254740993, 'x', '00112233445566778899AABBCCDDEEFF', x'00ff', 1.5), (null, null, null, null, null)`,
  );
  expect(await one.keyTypes(['i', 'v', 'u', 'b', 'any'], [], {})).toEqual([
    'integer',
    'text',
    'uuid',
    'bytea',
    null,
  ]);
  expect(await read(one, ['i', 'b'], 'integer')).toEqual([
    ['9007199254740993', '\\x00ff'],
    [null, null],
  ]);
  expect(await read(one, ['u'], 'uuid')).toEqual([['00112233-4455-6677-8899-aabbccddeeff'], [null]]);
});

test('sqlite quotes names, and no name is SQL', async () => {
  const name = 'a"; drop table t; --';
  const one = side(
    `create table "a""; drop table t; --"("k""; --" text); insert into "a""; drop table t; --" values ('v'); create table t(k)`,
    name,
  );
  expect(await one.keyTypes(['k"; --'], [], {})).toEqual(['text']);
  expect(await read(one, ['k"; --'], 'text')).toEqual([['v']]);
  await expect(side('create table t(k)', 'x"').keyTypes(['k'], [], {})).rejects.toThrow(
    'expected a table x"',
  );
});

test('sqlite refuses other collations, however the name of the table is written', async () => {
  for (const table of ['T', 't']) {
    await expect(
      side('create table t(k text collate nocase)', table).keyTypes(['k'], [], {}),
    ).rejects.toMatchObject({
      code: 'collation',
    });
  }
  expect(await side('create table t(k text collate BINARY)').keyTypes(['k'], [], {})).toEqual(['text']);
});

test('sqlite refuses values that are not of the type, and unknown names', async () => {
  await expect(
    read(side("create table t(k text); insert into t values (x'61')"), ['k'], 'text'),
  ).rejects.toThrow('expected a key of type text, got a blob (column k of SQLite table t)');
  await expect(read(side('create table t(k); insert into t values (1)'), ['k'], 'text')).rejects.toThrow(
    'got a number',
  );
  await expect(side('create table t(k)').keyTypes(['nix'], [], {})).rejects.toThrow(
    'expected a column nix, got only k (SQLite table t)',
  );
});

test('sqlite reads generated columns, and only the rows of its condition', async () => {
  const one = side(
    "create table t(a text, g text as (a || '!')); insert into t(a) values ('x'), ('y')",
    't',
    "a > 'x'",
  );
  expect(await one.keyTypes(['g'], [], {})).toEqual(['text']);
  expect(await read(one, ['g'], 'text')).toEqual([['y!']]);
});
