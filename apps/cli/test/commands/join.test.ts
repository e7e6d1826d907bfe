import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresCluster } from '@bloomery/testkit/programs/postgres-cluster';
import { BloomFilter } from 'bloomery';
import Database from 'libsql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const START_MS = 120_000;
const cwd = temporaryFolder();
const run = (...args: string[]) => bloomery(['join', ...args], { cwd });
const put = (name: string, text: string) => writeFileSync(join(cwd, name), text);

let cluster: PostgresCluster;
let far: string[];

beforeAll(async () => {
  cluster = await PostgresCluster.start({ password: 'right' });
  const client = new pg.Client(cluster.connection);
  await client.connect();
  await client.query(
    `create table employees(name text, city text);
     insert into employees values ('John', 'New York'), ('Moe', 'Topeka'), ('Al, "B"', 'Chicago'), ('Nell', null);
     create table users as select 'user' || i || '@example.org' mail, repeat('x', 60) note from generate_series(1, 40000) i;
     analyze users`,
  );
  await client.end();
  far = ['--far', cluster.url(), '--far-table', 'employees', '--on', 'city'];
  put('cities.csv', 'city,cost\nNew York,60000\nChicago,55000\n');
  const mails = Array.from({ length: 2000 }, (_, i) => `{"email":"user${i + 39_001}@example.org"}`);
  put('mails.jsonl', `${mails.join('\n')}\n`);
  const database = new Database(join(cwd, 'cities.sqlite'));
  database.exec(
    "create table cities(city text, cost integer); insert into cities values ('Chicago', 55000), ('Topeka', 1)",
  );
  database.close();
}, START_MS);
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe('join', () => {
  test('employees in expensive cities, as CSV and as JSON lines', () => {
    const args = ['--near', 'cities.csv', ...far, '--columns', 'name,city', '--near-columns', 'cost'];
    const { code, stdout, stderr } = run(...args);
    expect([code, stdout.split('\n').sort()]).toEqual([
      0,
      ['', '"Al, ""B""",Chicago,55000', 'John,New York,60000', 'name,city,cost'],
    ]);
    expect(stderr).toMatch(/^2 rows; .* sent, .* received\n$/);
    const lines = run(...args, '--json')
      .stdout.trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line)).sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'Al, "B"', city: 'Chicago', cost: '55000' },
      { name: 'John', city: 'New York', cost: '60000' },
    ]);
  });

  test('--json tells the counts, and equal names on both sides stay apart', () => {
    const args = ['--near', 'cities.csv', ...far, '--columns', 'city', '--near-columns', 'city', '--json'];
    const { stdout, stderr } = run(...args);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual({ city: 'Chicago', 'near.city': 'Chicago' });
    expect(JSON.parse(stderr)).toMatchObject({ rows: 2, bytesSent: expect.any(Number) });
    const local = run('--near', 'cities.csv', '--far', 'cities.csv', '--on', 'city', '--explain', '--json');
    expect(JSON.parse(local.stdout)).toMatchObject({ plan: null, size: { pairs: { value: 2 } } });
    const dry = run(
      '--near',
      'cities.csv',
      '--on',
      'city',
      '--write-filter',
      'dry.blm',
      '--dry-run',
      '--json',
    );
    expect(JSON.parse(dry.stdout)).toMatchObject({ file: 'dry.blm', keys: 2, written: false });
    expect(run('--filter', 'dry.blm', ...far).stderr).toContain('ENOENT');
  });

  test('an empty key goes through a file and back', () => {
    put('empty.csv', 'k\n""\na\n');
    put('far.jsonl', '{"k":""}\n{"k":null}\n{"k":"b"}\n');
    expect(run('--near', 'empty.csv', '--on', 'k', '--write-filter', 'empty.blm').code).toBe(0);
    const found = run('--filter', 'empty.blm', '--far', 'far.jsonl', '--on', 'k').stdout;
    put('empty-found.csv', found);
    expect(run('--near', 'empty.csv', '--far', 'empty-found.csv', '--on', 'k').stdout).toBe('k\n""\n');
  });

  test('a SQLite file is a side, with a condition', () => {
    const near = ['--near', 'sqlite:cities.sqlite', '--near-table', 'cities', '--near-where', 'cost > 50000'];
    expect(run(...near, ...far, '--columns', 'name').stdout).toBe('name\n"Al, ""B"""\n');
  });

  test('--explain and --dry-run print the plan and no rows', () => {
    const args = [
      '--near',
      'mails.jsonl',
      '--far',
      cluster.url(),
      '--far-table',
      'users',
      '--on',
      'email=mail',
    ];
    const { code, stdout } = run(...args, '--columns', 'mail,note', '--explain');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^far rows +40,000/m);
    expect(stdout).toMatch(/^best rate p\* +0\.\d+ ?%/m);
    expect(stdout).toMatch(/^Chosen: the filter, because the filter moves /m);
    expect(stdout).not.toContain('@example.org');
    const { plan } = JSON.parse(run(...args, '--columns', 'mail,note', '--dry-run', '--json').stdout);
    expect(plan.way).toBe('filter');
    expect(plan.bytes.filter).toBeLessThan(plan.bytes.all / 10);
    expect(plan.matches.low).toBeLessThanOrEqual(plan.matches.high);
  });

  test('a filter goes to a process beside the far side, and its rows come back', () => {
    const made = run('--near', 'mails.jsonl', '--on', 'email', '--write-filter', 'near.blm');
    expect([made.code, made.stdout]).toEqual([0, '']);
    expect(made.stderr).toMatch(/^near\.blm: 2,000 keys of type text, /);
    expect(run('--near', 'mails.jsonl', '--on', 'email', '--write-filter', 'near.blm').stderr).toContain(
      'exists',
    );
    const beside = run(
      '--filter',
      'near.blm',
      '--far',
      cluster.url(),
      '--far-table',
      'users',
      '--on',
      'mail',
    );
    put('found.csv', beside.stdout);
    const found = beside.stdout.trim().split('\n').length - 1;
    expect(found).toBeGreaterThanOrEqual(1000);
    expect(found).toBeLessThan(1200);
    const { stdout } = run('--near', 'mails.jsonl', '--far', 'found.csv', '--on', 'email=mail');
    expect(stdout.trim().split('\n').length - 1).toBe(1000);
  });
});

describe('join with bad input says one clear line, and exits with 2', () => {
  const expectError = (args: string[], message: RegExp) => {
    const { code, stdout, stderr } = run(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n').length).toBe(1);
    expect(stderr).not.toMatch(/wrong-pass|-word\b/);
  };

  test('a server that is away, and a wrong password', () => {
    const near = ['--near', 'cities.csv', '--on', 'city', '--far-table', 'employees', '--far'];
    expectError(
      [...near, `postgres://u:wrong-password@/d?host=${cwd}`],
      /--far postgres:.* cannot be reached: .*ENOENT/,
    );
    expectError(
      [...near, cluster.url('wrong-password')],
      /cannot be reached: password authentication failed/,
    );
  });

  test('passwords are in no message, wherever a URL has them', () => {
    const near = ['--near', 'cities.csv', '--on', 'city', '--far-table', 'employees', '--far'];
    const reached = /cannot be reached: connect ECONNREFUSED/;
    expectError([...near, 'postgres://u:wrong@pass-word@127.0.0.1:1/d'], reached);
    expectError([...near, 'postgres://127.0.0.1:1/d?user=u&password=wrong-password'], reached);
    expectError([...near, 'postgres://u:wrong-password@127.0.0.1:99999999/d'], /is not a URL of PostgreSQL/);
    expectError(
      [...near, 'mysql://u:wrong-password@127.0.0.1/d'],
      /mysql:\/\/u:\*\*\*@127\.0\.0\.1\/d is not known/,
    );
    const debugged = bloomery(['join', ...near, 'postgres://u:wrong-password@h:99999999/d'], {
      cwd,
      env: { BLOOMERY_DEBUG: '1' },
    });
    expect(debugged.stderr).not.toContain('wrong-password');
  });

  test('options that do not go together', () => {
    const filter = ['--filter', 'near.blm', ...far];
    const conflict = (args: string[], message: RegExp) => {
      const { code, stdout, stderr } = run(...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(message);
    };
    conflict([...filter, '--explain'], /'--filter <file>' cannot be used with option '--explain'/);
    conflict([...filter, '--near', 'cities.csv'], /cannot be used with option '--near <source>'/);
    conflict(
      ['--near', 'cities.csv', ...far, '--write-filter', 'x.blm'],
      /cannot be used with option '--far <source>'/,
    );
    expectError(
      ['--near', 'cities.csv', '--far', 'cities.csv', '--on', 'city,cost', '--type', 'text'],
      /expected 2 of the types text, integer, uuid, bytea, got text/,
    );
  });

  test('a file with a record of another length, and a file that is no database', () => {
    put('ragged.csv', 'city,cost\nNew York\n');
    expectError(
      ['--near', 'ragged.csv', ...far],
      /expected 2 fields, got 1 \(CSV file ragged\.csv, line 2\)/,
    );
    put('no.sqlite', 'this is not a database, but it is long enough to be looked at as one, 1234567890');
    expectError(['--near', 'sqlite:no.sqlite', '--near-table', 'cities', ...far], /not a database/);
  });

  test('a table or a column that does not exist', () => {
    expectError(
      ['--near', 'cities.csv', ...far, '--columns', 'salary'],
      /expected a column salary, got only name, city/,
    );
    const nowhere = ['--far', cluster.url(), '--far-table', 'nowhere', '--on', 'city'];
    expectError(['--near', 'cities.csv', ...nowhere], /expected a table nowhere/);
    expectError(
      ['--near', 'cities.csv', '--far', 'mails.jsonl', '--on', 'city'],
      /expected a column city, got only email/,
    );
    expectError(['--near', 'missing.csv', ...far], /--near missing\.csv does not exist/);
    expectError(['--near', 'cities.csv', '--far', cluster.url(), '--on', 'city'], /needs --far-table/);
    expectError(['--near', 'cities.csv', ...far, '--far-where', 'nix = 1'], /column "nix" does not exist/);
  });

  test('a filter of another scheme, and a file that is no filter', () => {
    const other = BloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 });
    writeFileSync(join(cwd, 'other.blm'), other.encode());
    expectError(
      ['--filter', 'other.blm', ...far],
      /expected a filter of keys of type text, got .* of another scheme/,
    );
    expectError(['--filter', 'cities.csv', ...far], /got a frame that cannot be used/);
  });
});
