import { spawnSync } from 'node:child_process';
import { until } from '@bloomery/testkit/eventually';
import pg from 'pg';
import { to } from 'pg-copy-streams';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fdwCondition, type JoinWay, PushdownFilter, postgres, semiJoin } from '../../src/join/index.ts';
import { collect, type JoinServers, START_MS, startJoinServers } from './join-servers.ts';

// What a join must not do to the databases of its caller, and what others must not do to a join.

let servers: JoinServers;
beforeAll(async () => {
  servers = await startJoinServers();
}, START_MS);
afterAll(() => servers?.close());
beforeEach(() => servers.empty());

const WAYS: readonly JoinWay[] = ['all', 'keys', 'filter'];

describe('names and functions of other users', () => {
  test('names of tables and columns are never SQL', async () => {
    const table = 'x"; drop table precious; --';
    const column = `k'); drop table precious; --"`;
    const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
    for (const client of [servers.near, servers.far]) {
      await client.query(
        `create table precious(i int); create table ${quoted(table)}(${quoted(column)} varchar(9));
         insert into ${quoted(table)} values ('a'), ('b')`,
      );
    }
    const join = (tableName: string, on: string, copy?: typeof to) =>
      semiJoin({
        near: postgres({ client: servers.near, table: tableName }),
        far: postgres({ client: servers.far, table: tableName, copy }),
        on: [on],
        columns: [on],
      });
    for (const copy of [undefined, to])
      expect((await collect((await join(quoted(table), column, copy)).rows())).flat().sort()).toEqual([
        'a',
        'b',
      ]);
    await expect(join(table, column)).rejects.toThrow(/invalid name syntax|none of this name/);
    await expect(join('precious; drop table precious', column)).rejects.toThrow();
    await expect(join(quoted(table), `${column} `)).rejects.toMatchObject({ code: 'column' });
    for (const client of [servers.near, servers.far])
      expect((await client.query('select count(*)::int n from precious')).rows).toEqual([{ n: 0 }]);
  });

  test('functions and operators that fit better than those of PostgreSQL are not called', async () => {
    await servers.near.query("create table n(k varchar(9), i int4); insert into n values ('a', 1), ('b', 2)");
    await servers.far.query(
      `create table f(k varchar(9), i int4); insert into f values ('a', 1), ('c', 3);
       create function trap() returns int8 language plpgsql as $$ begin raise exception 'trapped'; end $$;
       create function hashtextextended(varchar, int4) returns int8 language sql as 'select trap()';
       create function hashint8extended(int4, int4) returns int8 language sql as 'select trap()';
       create function hashint8extended(int4, int8) returns int8 language sql as 'select trap()';
       create function get_bit(bytea, int4) returns int4 language sql as 'select trap()::int4';
       create function unnest(text[]) returns setof text language sql as 'select trap()::text';
       create function differ(varchar, text) returns bool language sql as 'select trap() = 1';
       create operator = (leftarg = varchar, rightarg = text, function = differ);
       create function masked(int8, int4) returns int8 language sql as 'select trap()';
       create operator & (leftarg = int8, rightarg = int4, function = masked)`,
    );
    for (const way of WAYS) {
      const join = await semiJoin({
        near: postgres({ client: servers.near, table: 'n' }),
        far: postgres({ client: servers.far, table: 'f' }),
        on: ['k', 'i'],
        columns: ['k'],
        way,
      });
      expect(await collect(join.rows()), way).toEqual([['a']]);
    }
  });
});

describe('the client of the caller', () => {
  test('a transaction of the caller is seen, and is not ended', async () => {
    await servers.near.query('create table n(k int); insert into n values (1), (2)');
    await servers.far.query("create table f(k int); insert into f values (1); set bytea_output = 'escape'");
    await servers.near.query('begin; insert into n values (3)');
    await servers.far.query('begin; insert into f values (3)');
    for (const copy of [undefined, to]) {
      const join = await semiJoin({
        near: postgres({ client: servers.near, table: 'n', copy }),
        far: postgres({ client: servers.far, table: 'f', copy }),
        on: ['k'],
        columns: ['k'],
        ...(copy === undefined ? {} : { way: 'all' as const }),
      });
      expect((await collect(join.rows())).flat().sort()).toEqual(['1', '3']);
    }
    await servers.near.query('commit');
    await servers.far.query('commit');
    for (const [client, table] of [
      [servers.near, 'n'],
      [servers.far, 'f'],
    ] as const)
      expect((await client.query(`select k from ${table} where k = 3`)).rows).toEqual([{ k: 3 }]);
    expect((await servers.far.query('show bytea_output')).rows).toEqual([{ bytea_output: 'escape' }]);
    await servers.far.query('reset bytea_output');
  });

  test('a condition with a comment at its end is a condition', async () => {
    await servers.near.query('create table n as select i k from generate_series(1, 5) i');
    await servers.far.query('create table f as select i k from generate_series(1, 5) i');
    const join = await semiJoin({
      near: postgres({ client: servers.near, table: 'n', where: 'k > 1 or k = 5 -- not 1' }),
      far: postgres({ client: servers.far, table: 'f', where: 'k < 3 or false -- not 3' }),
      on: ['k'],
      columns: ['k'],
    });
    expect(await collect(join.rows())).toEqual([['2']]);
  });
});

describe('a join that ends early', () => {
  /** A client of its own for a statement that takes too long. */
  async function slowFar(): Promise<{ client: pg.Client; stop(): Promise<void> }> {
    await servers.near.query("create table n as select 'a' k");
    await servers.far.query(
      `create table f as select 'a'::text k from generate_series(1, 3) i;
       create view slow as select k || left(pg_sleep(300)::text, 0) k from f`,
    );
    const client = new pg.Client(servers.farCluster.connection);
    client.on('error', () => {});
    await client.connect();
    const [{ pid }] = (await client.query('select pg_backend_pid() pid')).rows;
    const stop = async () => {
      await servers.far.query('select pg_terminate_backend($1)', [pid]);
      await client.end().catch(() => {});
    };
    return { client, stop };
  }

  const joinSlow = (client: pg.Client, signal?: AbortSignal) =>
    semiJoin({
      near: postgres({ client: servers.near, table: 'n' }),
      far: postgres({ client, table: 'slow' }),
      on: ['k'],
      columns: ['k'],
      signal,
    });

  test('a signal ends the wait for a statement that runs', async () => {
    const { client, stop } = await slowFar();
    const giveUp = new AbortController();
    const planning = joinSlow(client, giveUp.signal);
    await waitForSleep();
    giveUp.abort(new Error('given up'));
    await expect(planning).rejects.toThrow('given up');
    await stop();
  });

  test('a connection that is lost is the error, and not what follows from it', async () => {
    const { client, stop } = await slowFar();
    const far = postgres({ client, table: 'slow' });
    const reading = collect(far.read({ names: ['k'], keys: [0], types: ['text'] }, {}));
    const failed = expect(reading).rejects.toThrow(/terminating connection|Connection terminated/);
    await waitForSleep();
    await stop();
    await failed;
  });

  function waitForSleep(): Promise<void> {
    return until('a statement sleeps', async () => {
      const { rows } = await servers.far.query("select 1 from pg_stat_activity where wait_event = 'PgSleep'");
      return rows.length > 0;
    });
  }
});

test('the lines for psql run in psql', async () => {
  const { near, far, nearCluster, farCluster } = servers;
  await near.query(
    `create extension if not exists postgres_fdw with schema pg_catalog;
     create table small as select 'user ' || 7 * i k from generate_series(1, 100) i;
     drop server if exists far cascade;
     create server far foreign data wrapper postgres_fdw options (host '${farCluster.connection.host}', dbname 'postgres');
     create user mapping for postgres server far options (user 'postgres');
     create foreign table big(k text) server far options (table_name 'big')`,
  );
  await far.query("create table big as select 'user ' || i k from generate_series(1, 20000) i");
  const filter = new PushdownFilter({ types: ['text'], bitsLog2: 12, hashes: 5 });
  for (let i = 1; i <= 100; i++) filter.add([`user ${7 * i}`]);
  const lines = fdwCondition(filter, 'f.k').psql(
    'select count(*) from small n join big f on f.k = n.k where $condition',
  );
  const { status, stdout, stderr } = spawnSync(
    'psql',
    ['-h', nearCluster.connection.host, '-U', 'postgres', '-d', 'postgres', '-qAtX', '-v', 'ON_ERROR_STOP=1'],
    { input: lines, encoding: 'utf8' },
  );
  expect([status, stderr, stdout]).toEqual([0, '', '100\n']);
});

test('a database in another encoding is refused at the start', async () => {
  await servers.near.query('create table n(k text)');
  await servers.far.query("create database latin encoding 'LATIN1' locale 'C' template template0");
  const client = new pg.Client({ ...servers.farCluster.connection, database: 'latin' });
  await client.connect();
  await client.query('create table f(k text)');
  await expect(
    semiJoin({
      near: postgres({ client: servers.near, table: 'n' }),
      far: postgres({ client, table: 'f' }),
      on: ['k'],
      columns: ['k'],
    }),
  ).rejects.toThrow('Cannot push a filter to PostgreSQL: expected a database in UTF8, got LATIN1');
  await client.end();
});
