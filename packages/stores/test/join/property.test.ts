import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import Database from 'libsql';
import { to } from 'pg-copy-streams';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  candidates,
  csv,
  type JoinSide,
  type JoinWay,
  jsonl,
  KEY_TYPES,
  type KeyType,
  nearFilter,
  postgres,
  type Row,
  semiJoin,
  sqlite,
} from '../../src/join/index.ts';
import { collect, type JoinServers, START_MS, startJoinServers } from './join-servers.ts';
import { type RandomTable, randomTables } from './random-tables.ts';

// Joins of random tables, compared with a plain SQL join of the same tables in one server.

let servers: JoinServers;
const folder = mkdtempSync(join(tmpdir(), 'bloomery-join-'));
beforeAll(async () => {
  servers = await startJoinServers();
}, START_MS);
afterAll(async () => {
  await servers?.close();
  rmSync(folder, { recursive: true });
});

const POSTGRES: Record<KeyType, readonly string[]> = {
  text: ['text', 'varchar(20)'],
  integer: ['int2', 'int4', 'int8'],
  uuid: ['uuid'],
  bytea: ['bytea'],
};
const SQLITE: Record<KeyType, string> = { text: 'text', integer: 'integer', uuid: 'uuid', bytea: 'blob' };
const WAYS: readonly (JoinWay | undefined)[] = ['all', 'keys', 'filter', undefined];
const names = (types: readonly KeyType[]) => types.map((_, i) => `k${i}`);

async function fillPostgres(
  client: JoinServers['near'],
  table: string,
  types: readonly KeyType[],
  { rows }: RandomTable,
  random: Random,
) {
  const columns = types.map(
    (type, i) =>
      `k${i} ${random.pick(
        postgresTypes(
          type,
          rows.map((row) => row[i]),
        ),
      )}`,
  );
  await client.query(`drop table if exists ${table}; create table ${table}(i int, ${columns.join(', ')})`);
  const arrays = types.map((type, i) => `$${i + 1}::${type === 'integer' ? 'int8' : type}[]`);
  const selected = names(types).join(', ');
  await client.query(
    `insert into ${table} select i - 1, ${selected} from unnest(${arrays.join(', ')}) with ordinality u(${selected}, i)`,
    types.map((_, i) => rows.map((row) => row[i])),
  );
}

/** The types of PostgreSQL in a family that hold all of these values. */
function postgresTypes(type: KeyType, values: readonly (string | null)[]): readonly string[] {
  if (type !== 'integer') return POSTGRES[type];
  const fits = (bits: number) =>
    values.every((value) => BigInt.asIntN(bits, BigInt(value ?? 0)) === BigInt(value ?? 0));
  return POSTGRES.integer.filter((name) => fits(8 * Number(name.slice(3))));
}

function sqliteTable(name: string, types: readonly KeyType[], { rows }: RandomTable): JoinSide {
  const database = new Database(':memory:');
  const columns = types.map((type, i) => `k${i} ${SQLITE[type]}`);
  database.exec(`create table ${name}(i integer, ${columns.join(', ')})`);
  const insert = database.prepare(`insert into ${name} values (?, ${types.map(() => '?').join(', ')})`);
  for (const [i, row] of rows.entries()) {
    insert.run([i, ...row.map((value, at) => sqliteValue(types[at], value))]);
  }
  return sqlite({ database, table: name });
}

function sqliteValue(type: KeyType, value: string | null) {
  if (value === null) return null;
  if (type === 'integer') return BigInt(value);
  return type === 'bytea' ? Buffer.from(value.slice(2), 'hex') : value;
}

function files(name: string, types: readonly KeyType[], { rows }: RandomTable): JoinSide[] {
  const header = ['i', ...names(types)];
  const lines = rows.map((row, i) =>
    Object.fromEntries([String(i), ...row].map((value, at) => [header[at], value])),
  );
  const jsonPath = join(folder, `${name}.jsonl`);
  writeFileSync(jsonPath, lines.map((line) => `${JSON.stringify(line)}\n`).join('') || '\n');
  const csvPath = join(folder, `${name}.csv`);
  const quoted = (value: string | null) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`);
  writeFileSync(
    csvPath,
    [header, ...rows.map((row, i) => [String(i), ...row])]
      .map((row) => `${row.map(quoted).join(',')}\r\n`)
      .join(''),
  );
  return [jsonl(jsonPath), csv(csvPath)];
}

const ROUNDS = withEffort(12, 6);
test(`joins of random tables equal a plain SQL join, in ${ROUNDS} rounds`, async () => {
  let matches = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const random = new Random(1000 + round);
    const types = Array.from(
      { length: 1 + (round % 3) },
      (_, i) => KEY_TYPES[(round + i) % KEY_TYPES.length],
    );
    const on = names(types);
    const [nearRows, farRows] = randomTables(random, types);
    await fillPostgres(servers.near, 'near_t', types, nearRows, random);
    await fillPostgres(servers.far, 'far_t', types, farRows, random);
    await fillPostgres(servers.far, 'near_copy', types, nearRows, random);

    const equal = on.map((column) => `n.${column} = f.${column}`).join(' and ');
    const plain = async (sql: string) =>
      (await servers.far.query({ text: sql, rowMode: 'array' })).rows.map((row) => row.map(String));
    const semi = await plain(
      `select f.i from far_t f where exists (select 1 from near_copy n where ${equal})`,
    );
    const pairs = await plain(`select f.i, n.i from far_t f join near_copy n on ${equal}`);
    matches += pairs.length;

    const nears: JoinSide[] = [
      postgres({ client: servers.near, table: 'near_t' }),
      sqliteTable('near_t', types, nearRows),
      ...files('near', types, nearRows),
    ];
    const fars: JoinSide[] = [
      postgres({ client: servers.far, table: 'far_t' }),
      postgres({ client: servers.far, table: 'far_t', copy: to }),
      sqliteTable('far_t', types, farRows),
      ...files('far', types, farRows),
    ];
    for (const [a, near] of nears.entries()) {
      for (const [b, far] of fars.entries()) {
        const way = WAYS[(round + a + b) % WAYS.length];
        const what = `round ${round}: ${types} from ${near.name} to ${far.name} by ${way}`;
        const options = { near, far, on, columns: ['i'], types, ...(way === undefined ? {} : { way }) };
        const isSemi = (round + a + b) % 3 === 0;
        const found = await semiJoin(isSemi ? options : { ...options, nearColumns: ['i'] });
        expect(sorted(await collect(found.rows())), what).toEqual(sorted(isSemi ? semi : pairs));
      }
    }
    const near = nears[round % nears.length];
    const { frame } = await nearFilter({ near, on, types, falsePositiveRate: 0.05 });
    for (const far of fars) {
      const found = await candidates({ far, on, types, columns: ['i'], frame });
      const passed = new Set((await collect(found.batches)).flat().map((row) => row[on.length]));
      for (const [i] of semi) expect(passed.has(i), `round ${round}: ${i} passes at ${far.name}`).toBe(true);
    }
  }
  expect(matches).toBeGreaterThan(100);
});

function sorted(rows: readonly Row[]): string[] {
  return rows.map((row) => row.join()).sort();
}
