import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { to } from 'pg-copy-streams';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  candidates,
  csv,
  fdwCondition,
  type JoinSide,
  type JoinWay,
  nearFilter,
  PushdownFilter,
  postgres,
  semiJoin,
} from '../../src/join/index.ts';
import { collect, type JoinServers, START_MS, startJoinServers } from './join-servers.ts';

let servers: JoinServers;
beforeAll(async () => {
  servers = await startJoinServers();
}, START_MS);
afterAll(() => servers?.close());
beforeEach(() => servers.empty());

const nearTable = (table: string, where?: string) => postgres({ client: servers.near, table, where });
const farTable = (table: string, where?: string) => postgres({ client: servers.far, table, where });

describe('the example of the survey', () => {
  test('employees in expensive cities', async () => {
    await servers.near.query(
      `create table cities(city text, cost_of_living int);
       insert into cities values ('New York', 60000), ('Chicago', 55000), ('Topeka', 30000), (null, 90000)`,
    );
    await servers.far.query(
      `create table employees(name text, salary int, city varchar(40));
       insert into employees values ('John', 60000, 'New York'), ('George', 30000, 'New York'),
         ('Moe', 25000, 'Topeka'), ('Alice', 70000, 'Chicago'), ('Raul', 30000, 'Chicago'), ('Nell', 1, null)`,
    );
    const join = await semiJoin({
      near: nearTable('cities', 'cost_of_living > 50000'),
      far: farTable('employees'),
      on: ['city'],
      columns: ['name', 'city'],
      nearColumns: ['cost_of_living'],
    });
    expect((await collect(join.rows())).sort()).toEqual([
      ['Alice', 'Chicago', '55000'],
      ['George', 'New York', '60000'],
      ['John', 'New York', '60000'],
      ['Raul', 'Chicago', '55000'],
    ]);
    expect(join.nearKeys).toBe(2);
  });
});

describe('PushdownFilter', () => {
  test('the server lets all keys pass, and others at the rate of theory', async () => {
    const filter = new PushdownFilter({ types: ['text'], bitsLog2: 14, hashes: 3 });
    for (let i = 0; i < 1000; i++) filter.add([`in-${i}`]);
    const condition = filter.condition(["'in-' || i"]);
    const from = 'generate_series($2::int, $3::int) i';
    const count = async (first: number, last: number) =>
      Number(
        (
          await servers.far.query(`select count(*) n from ${from} where ${condition}`, [
            Buffer.from(filter.bytes),
            first,
            last,
          ])
        ).rows[0].n,
      );
    expect(await count(0, 999)).toBe(1000);
    const passed = await count(1000, 100_999);
    expectBinomial(passed, 100_000, filter.estimatedFalsePositiveRate(), 'rows that pass in vain');
    const here = Array.from({ length: 100_000 }, (_, i) => filter.has([`in-${i + 1000}`]));
    expect(here.filter(Boolean).length).toBe(passed);
  });

  test('postgres_fdw sends the condition to the far server, with one parameter', async () => {
    const { near, far, farCluster } = servers;
    await near.query(
      `create extension if not exists postgres_fdw with schema pg_catalog;
       create table small(id int8); insert into small select 7 * i from generate_series(1, 100) i;
       drop server if exists far cascade;
       create server far foreign data wrapper postgres_fdw options (host '${farCluster.connection.host}', dbname 'postgres');
       create user mapping for postgres server far options (user 'postgres');
       create foreign table big(id int4, note text) server far options (table_name 'big')`,
    );
    await far.query(
      "create table big as select i::int4 id, 'note ' || i note from generate_series(1, 20000) i",
    );
    const filter = new PushdownFilter({ types: ['integer'], bitsLog2: 12, hashes: 5 });
    for (let i = 1; i <= 100; i++) filter.add([String(7 * i)]);
    const { text, parameter, setup, psql } = fdwCondition(filter, 'f.id');
    await near.query(setup);
    const query = `select n.id, f.note from small n join big f on f.id = n.id where ${text}`;
    await near.query({ name: 'by-protocol', text: query, values: [Buffer.from(parameter)] });
    const plain = await near.query('select n.id, f.note from small n join big f on f.id = n.id order by 1');
    const { rows } = await near.query({ name: 'by-protocol', text: query, values: [Buffer.from(parameter)] });
    expect(rows.sort((a, b) => a.id - b.id)).toEqual(plain.rows);
    expect(rows.length).toBe(100);
    const lines = psql('select n.id, f.note from small n join big f on f.id = n.id where $condition');
    const explained: string[] = [];
    for (const line of lines.trim().split('\n')) {
      const isQuery = line.startsWith('execute');
      const result = await near.query(isQuery ? `explain (verbose, costs off) ${line}` : line);
      for (const row of result.rows) explained.push(row['QUERY PLAN']);
      if (isQuery) expect((await near.query(line)).rows.length).toBe(100);
    }
    expect(explained.find((line) => line.includes('Remote SQL'))).toMatch(
      /WHERE .*get_bit\(\$1::bytea, \(hashint8extended\(id, 1::bigint\) & 4095/,
    );
    expect(explained.join('\n')).not.toContain('\\x');
    await near.query('reset plan_cache_mode');
  });
});

describe('semiJoin between two servers', () => {
  test('all ways give the same answer, and a false positive is never in it', async () => {
    await servers.near.query("create table n as select 'key ' || 3 * i k from generate_series(1, 2000) i");
    await servers.far.query(
      "create table f as select 'key ' || i k, i, null::text nothing from generate_series(1, 60000) i",
    );
    const expected = Array.from({ length: 2000 }, (_, i) => [String(3 * (i + 1)), null]);
    for (const way of ['all', 'keys', 'filter'] as JoinWay[]) {
      const join = await semiJoin({
        near: nearTable('n'),
        far: farTable('f'),
        on: ['k'],
        columns: ['i', 'nothing'],
        way,
      });
      const rows = await collect(join.rows());
      expect(rows.sort((a, b) => Number(a[0]) - Number(b[0]))).toEqual(expected);
      const report = join.report();
      expect(report.falsePositives).toBe(report.received - 2000);
      if (way === 'filter') expect(report.falsePositives).toBeLessThan(2000);
      if (way === 'keys') expect(report.falsePositives).toBe(0);
      if (way === 'all') expect(report.received).toBe(60_000);
    }
  });

  test('a plan says what moves, and a hopeless join is given up after one slice', async () => {
    await servers.near.query(
      "create table n as select 'user' || i || '@example.org' k from generate_series(1, 20000) i",
    );
    await servers.far.query(
      `create table f as select 'user' || i || '@example.org' k, repeat('x', 40) note from generate_series(19001, 119000) i;
       create table g as select 'user' || i % 25000 || '@example.org' k, repeat('x', 40) note from generate_series(1, 50000) i;
       analyze f; analyze g`,
    );
    const options = { near: nearTable('n'), on: ['k'], columns: ['k', 'note'] };
    const join = await semiJoin({ ...options, far: farTable('f') });
    const plan = join.plan!;
    expect(plan.way).toBe('filter');
    expect(plan.farRows).toBe(100_000);
    expect(plan.matches.standardError).toBeGreaterThan(0);
    expect(Math.abs(plan.matches.value - 1000)).toBeLessThan(5 * plan.matches.standardError);
    expect((await collect(join.rows())).length).toBe(1000);
    const { bytesSent, bytesReceived } = join.report();
    // The estimate of the matches is within 5 sigma, and so are the bytes.
    const doubt = 5 * plan.matches.standardError * plan.rowBytes + 0.02 * plan.bytes.filter;
    expect(Math.abs(bytesSent + bytesReceived - plan.bytes.filter)).toBeLessThan(doubt);
    expect(plan.bytes.filter).toBeLessThan(plan.bytes.keys / 2);

    const precise = await semiJoin({ ...options, far: farTable('f'), precision: 0.01 });
    expect(precise.plan!.matches.standardError * plan.rowBytes).toBeLessThan(0.012 * plan.bytes.filter);
    expect(precise.plan!.matches.standardError).toBeLessThan(plan.matches.standardError / 2);
    expect(Math.abs(precise.plan!.matches.value - 1000)).toBeLessThan(
      5 * precise.plan!.matches.standardError,
    );

    const hopeless = await semiJoin({ ...options, far: farTable('g') });
    expect(hopeless.plan!.way).toBe('all');
    expect(hopeless.plan!.sliceBytes).toBeLessThanOrEqual(20_000 * 0.1804);
    expect(Math.abs(hopeless.plan!.matches.value - 40_000)).toBeLessThan(
      5 * hopeless.plan!.matches.standardError,
    );
    expect((await collect(hopeless.rows())).length).toBe(40_000);
  });

  test('types that differ, unknown columns and tables, and collations are refused', async () => {
    await servers.near.query('create table n(id int, name text, price numeric)');
    await servers.far.query(
      `create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
       create table f(id text, name text collate any_case, price numeric)`,
    );
    const join = (on: string[], table = 'f') =>
      semiJoin({ near: nearTable('n'), far: farTable(table), on, columns: [] });
    await expect(join(['id'])).rejects.toThrow(
      'Cannot join: expected columns of one type, got integer (id of PostgreSQL table n) and text (id of PostgreSQL table f)',
    );
    await expect(join(['price'])).rejects.toMatchObject({ code: 'type', message: /got numeric/ });
    await expect(join(['name'])).rejects.toMatchObject({ code: 'collation' });
    await expect(join(['nix'])).rejects.toThrow('expected a column nix, got only id, name, price');
    await expect(join(['id'], 'nowhere')).rejects.toThrow('expected a table nowhere, got none of this name');
  });

  test('a server whose hashes differ is refused before anything is read', async () => {
    const client = {
      query: async (query: { text: string }) => {
        const { rows }: { rows: unknown[] } = await servers.far.query({ ...query });
        if (query.text.includes('hashtextextended')) (rows as string[][])[0][0] = '1';
        return { rows };
      },
    };
    await servers.near.query('create table n(k text)');
    await servers.far.query('create table f(k text)');
    const far = postgres({ client, table: 'f' });
    await expect(semiJoin({ near: nearTable('n'), far, on: ['k'], columns: [] })).rejects.toMatchObject({
      code: 'hash',
    });
  });

  test('a consumer that stops early leaves the client usable', async () => {
    await servers.near.query('create table n as select i from generate_series(1, 30000) i');
    await servers.far.query('create table f as select i from generate_series(1, 30000) i');
    const join = await semiJoin({ near: nearTable('n'), far: farTable('f'), on: ['i'], columns: ['i'] });
    for await (const _ of join.rows()) break;
    expect((await servers.far.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect((await collect(join.rows())).length).toBe(30_000);
  });
});

describe('a stream beside the far database', () => {
  test('keys with tabs, backslashes, line feeds and NULLs come through COPY', async () => {
    const random = new Random(5);
    const letters = [...'a\t\\\n\r\b\f\vN,"é'];
    const keys = Array.from({ length: 400 }, () =>
      Array.from({ length: 1 + random.below(3) }, () => random.pick(letters)).join(''),
    );
    await servers.near.query('create table n(k text)');
    await servers.far.query('create table f(k text, i int)');
    await servers.near.query('insert into n select unnest($1::text[])', [
      [...keys.slice(0, 200), '\\N', null],
    ]);
    await servers.far.query('insert into f select k, i from unnest($1::text[]) with ordinality u(k, i)', [
      [...keys, '\\N', null],
    ]);
    const near = nearTable('n');
    const { frame } = await nearFilter({ near, on: ['k'], falsePositiveRate: 0.01 });
    const far = postgres({ client: servers.far, table: 'f', copy: to as never });
    const { names, batches } = await candidates({ far, on: ['k'], columns: ['i'], frame });
    const passed = (await collect(batches)).flat();
    expect(names).toEqual(['k', 'i']);
    const direct = await semiJoin({ near, far: farTable('f'), on: ['k'], columns: ['k', 'i'] });
    const expected = (await collect(direct.rows())).map(([, i]) => i);
    const side: JoinSide = csv(async function* () {
      yield Buffer.from(`${[names, ...passed].map((row) => row.map(csvField).join(',')).join('\n')}\n`);
    });
    const finished = await semiJoin({ near, far: side, on: ['k'], columns: ['k', 'i'] });
    expect(sorted((await collect(finished.rows())).map(([, i]) => i))).toEqual(sorted(expected));
    expect(expected.length).toBeGreaterThan(200);
    expect(passed.some(([key]) => key === null)).toBe(false);
  });

  test('a filter of other keys is refused', async () => {
    await servers.near.query('create table n as select 1 k');
    await servers.far.query("create table f as select 'a' k");
    const { frame } = await nearFilter({ near: nearTable('n'), on: ['k'], falsePositiveRate: 0.01 });
    const ask = (bytes: Uint8Array) =>
      candidates({ far: farTable('f'), on: ['k'], columns: [], frame: bytes });
    await expect(ask(frame)).rejects.toMatchObject({ code: 'filter', message: /of another scheme/ });
    await expect(ask(frame.subarray(0, 9))).rejects.toMatchObject({ code: 'filter' });
  });
});

function csvField(value: string | null): string {
  return value === null ? '' : `"${value.replaceAll('"', '""')}"`;
}

function sorted(values: readonly (string | null)[]): (string | null)[] {
  return [...values].sort();
}
