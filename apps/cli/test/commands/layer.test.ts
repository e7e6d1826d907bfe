import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { layered } from '@bloomery/stores/layered';
import { PostgresCluster } from '@bloomery/testkit/programs/postgres-cluster';
import Database from 'libsql';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const cwd = temporaryFolder();
const run = (...args: string[]) => bloomery(['layer', ...args], { cwd });
const BASE = ['--base', 'sqlite:users.sqlite', '--table', 'users', '--key', 'name', '--value', 'data'];

beforeAll(() => {
  const database = new Database(join(cwd, 'users.sqlite'));
  database.exec(
    "create table users (name text primary key, data text); insert into users values ('ada', 'Ada'), ('bob', 'Bob'), ('eve', 'Eve')",
  );
  database.close();
});

describe('layer', () => {
  test('changes lie over the base, and a merge makes a new one', () => {
    const before = readFileSync(join(cwd, 'users.sqlite'));
    expect(run('set', 'changes', 'ada', 'Ada Lovelace', ...BASE)).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(run('delete', 'changes', 'bob', ...BASE).code).toBe(0);
    expect(run('get', 'changes', 'ada', 'eve', ...BASE)).toMatchObject({
      code: 0,
      stdout: 'Ada Lovelace\nEve\n',
    });
    expect(run('get', 'changes', 'ada', 'bob', '--json', ...BASE)).toMatchObject({
      code: 1,
      stdout: '{"key":"ada","value":"Ada Lovelace"}\n{"key":"bob","value":null}\n',
    });
    expect(run('list', 'changes', ...BASE).stdout).toBe(
      '{"key":"eve","value":"Eve"}\n{"key":"ada","value":"Ada Lovelace"}\n',
    );
    expect(run('list', 'changes', '--changed', ...BASE).stdout).toBe(
      '{"key":"ada","value":"Ada Lovelace"}\n{"key":"bob","deleted":true}\n',
    );
    expect(run('status', 'changes', ...BASE).stdout).toMatch(/^changed records +2$/m);
    expect(run('merge', 'changes', '--dry-run', ...BASE).stdout).toMatch(
      /^1 records would be set, 1 deleted/,
    );
    expect(readFileSync(join(cwd, 'users.sqlite')).equals(before), 'the base is untouched so far').toBe(true);
    expect(JSON.parse(run('merge', 'changes', '--json', ...BASE).stdout)).toMatchObject({
      set: 1,
      deleted: 1,
    });
    expect(JSON.parse(run('status', 'changes', '--json', ...BASE).stdout).changedKeys).toBe(0);
    const database = new Database(join(cwd, 'users.sqlite'));
    expect(database.prepare('select data from users order by name').pluck().all()).toEqual([
      'Ada Lovelace',
      'Eve',
    ]);
    database.close();
  });

  test('apply takes JSON lines of a file or a pipe', () => {
    const lines = Array.from({ length: 2500 }, (_, i) => JSON.stringify({ key: `user${i}`, value: `${i}` }));
    writeFileSync(join(cwd, 'day.jsonl'), `${lines.join('\n')}\n\n{"key":"eve","deleted":true}`);
    expect(run('apply', 'applied', 'day.jsonl', '--dry-run', ...BASE).stdout).toBe(
      '2,500 records would be set, 1 deleted\n',
    );
    expect(readdirSync(cwd)).not.toContain('applied');
    expect(run('apply', 'applied', 'day.jsonl', ...BASE).stdout).toBe('2,500 records were set, 1 deleted\n');
    const piped = bloomery(['layer', 'apply', 'applied', '--json', ...BASE], {
      cwd,
      input: '{"key":"ü","value":"💧"}\n',
    });
    expect(piped.stdout).toBe('{"set":1,"deleted":0,"dryRun":false}\n');
    expect(run('get', 'applied', 'user2499', 'ü', ...BASE).stdout).toBe('2499\n💧\n');
    writeFileSync(join(cwd, 'bad.jsonl'), `${lines.slice(0, 1001).join('\n')}\n{"key":1}\n`);
    const bad = run('apply', 'applied', 'bad.jsonl', ...BASE);
    expect(bad.code).toBe(2);
    expect(bad.stderr).toMatch(/1,000 changes were made before the error\n.*bad\.jsonl, line 1002: expected/);
  });

  test('bad input is one clear line, and changes nothing', async () => {
    const expectError = (args: string[], message: RegExp) => {
      const { code, stdout, stderr } = run(...args);
      expect([code, stdout], stderr).toEqual([2, '']);
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    };
    run('set', 'changes', 'ada', 'again', ...BASE);
    expectError(['get', 'none', 'x', ...BASE], /none does not exist/);
    expectError(['get', 'changes', 'x', '--base', 'users.csv'], /--base users\.csv is not known/);
    expectError(['get', 'changes', 'x', '--base', 'sqlite:users.sqlite'], /--table names its table/);
    expectError(['get', 'changes', 'x', '--base', 'https://example.org/'], /lacks \{key\}/);
    expectError(
      ['get', 'changes', 'x', '--base', 'sqlite:no.sqlite', '--table', 't'],
      /expected a file, got none/,
    );
    expectError(['get', 'changes', 'x', ...BASE.slice(0, 2), '--table', 'other'], /expected a table "other"/);
    expectError(
      ['get', 'changes', 'x', '--base', 'postgres://reader:secret@127.0.0.1:1/db', '--table', 't'],
      /postgres:\/\/reader:\*\*\*@127\.0\.0\.1:1\/db cannot be reached/,
    );
    const other = new Database(join(cwd, 'other.sqlite'));
    other.exec('create table users (name text primary key, data text)');
    other.close();
    const elsewhere = ['--base', 'sqlite:other.sqlite', ...BASE.slice(2)];
    expectError(['set', 'changes', 'a', 'b', ...elsewhere], /belong to another base.*nothing was changed/);

    const held = await layered({ get: () => undefined }, join(cwd, 'held'));
    expectError(['set', 'held', 'a', 'b', '--base', 'http://127.0.0.1:1/{key}'], /has it open; try again/);
    await held.close();

    const [name] = readdirSync(join(cwd, 'changes')).filter((one) => one.endsWith('.log'));
    const path = join(cwd, 'changes', name);
    run('set', 'changes', 'ada', 'more', ...BASE);
    const bytes = readFileSync(path);
    const damaged = Buffer.from(bytes);
    damaged[60] ^= 1;
    writeFileSync(path, damaged);
    expectError(['get', 'changes', 'ada', ...BASE], /got damaged bytes \(offset 48\)/);
    writeFileSync(path, bytes.subarray(0, -1));
    const cut = run('set', 'changes', 'bob', 'B', ...BASE);
    expect([cut.code, cut.stderr]).toEqual([
      0,
      expect.stringMatching(/warning:.* an unfinished change of .* was cut off \(offset \d+\)\n$/),
    ]);
  });

  test('an HTTP server and a table of PostgreSQL are bases', async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/users/ada' ? 200 : 404;
      response.end('Ada by HTTP');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/users/{key}`;
    run('set', 'http', 'bob', 'Bob', '--base', url);
    // Not run by `bloomery`, which would block the server of this process.
    const child = startBloomery(['layer', 'get', 'http', 'ada', 'bob', '--base', url], cwd);
    let said = '';
    child.stdout.on('data', (part) => {
      said += part;
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(said).toBe('Ada by HTTP\nBob\n');
    server.close();

    await using cluster = await PostgresCluster.start();
    const client = new pg.Client(cluster.connection);
    await client.connect();
    await client.query(
      "create table users (name text primary key, data text); insert into users values ('ada', 'A')",
    );
    await client.end();
    const base = ['--base', cluster.url(), ...BASE.slice(2)];
    expect(run('set', 'pg', 'bob', 'B', ...base).code).toBe(0);
    expect(run('list', 'pg', ...base).stdout).toBe('{"key":"ada","value":"A"}\n{"key":"bob","value":"B"}\n');
    expect(run('merge', 'pg', ...base).stderr).toMatch(/expected a base that can be replaced/);
  }, 120_000);
});
