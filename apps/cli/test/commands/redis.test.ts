import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bloomery, PACKAGE, startBloomery, temporaryFolder } from '../run-command.ts';

const SLOW_MS = 120_000;
const cwd = temporaryFolder();

/** The command finds the client beside itself, in the packages of the repository. */
const run = (args: readonly string[], options: { input?: string; env?: Record<string, string> } = {}) =>
  bloomery(['redis', ...args], { cwd, env: { REDIS_URL: server.url }, ...options });

let server: RedisServer;
const lines = (prefix: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${prefix}${from + i}\n`).join('');

beforeAll(async () => {
  server = await RedisServer.start();
  writeFileSync(join(cwd, 'names.txt'), lines('name', 0, 3000));
  const made = run(['attach', 'users', '--capacity', '1k', '--rate', '0.1%', '--json']);
  expect(made.stderr).toBe('');
  expect(JSON.parse(made.stdout)).toMatchObject({ name: 'users', state: 'live', epoch: 1, capacity: 1000 });
}, SLOW_MS);
afterAll(() => server?.[Symbol.asyncDispose]());

describe('redis', () => {
  test(
    'add, check and export: all keys, the others rejected, files that bloomery check asks',
    () => {
      const added = JSON.parse(run(['add', 'users', 'names.txt', '--json']).stdout);
      expect(added).toMatchObject({ name: 'users', added: 3000 });
      expect(added.id).toMatch(/^[0-9a-f]{8}\.1\./);
      const input = lines('name', 2990, 3000) + lines('other', 0, 10);
      const found = run(['check', 'users', '--after', added.id], { input });
      expect([found.code, found.stdout, found.stderr]).toEqual([0, lines('name', 2990, 3000), '']);
      expect(run(['check', 'users', '-v'], { input }).stdout).toBe(lines('other', 0, 10));
      expect(run(['check', 'users', '-c', 'names.txt']).stdout).toBe('3000\n');
      expect(run(['check', 'users', '-q'], { input: 'other1\n' }).code).toBe(1);
      // 3,000 keys are more than the capacity, so there are stages.
      const { files, estimatedSize } = JSON.parse(
        run(['export', 'users', '-o', 'users.blm', '--json']).stdout,
      );
      expect(files).toEqual(['users.blm', 'users-2.blm']);
      expect(estimatedSize).toBeGreaterThan(2900);
      const asked = bloomery(['check', ...files.flatMap((file: string) => ['-f', file]), '-c', 'names.txt'], {
        cwd,
      });
      expect(asked.stdout).toBe('3000\n');
      expect(run(['export', 'users', '-o', 'users.blm']).stderr).toContain('exists already');
      const text = run(['attach', 'users']).stdout;
      expect(text).toMatch(/^state +live$/m);
      expect(text).toMatch(/^stages +2, /m);
    },
    SLOW_MS,
  );

  test(
    'check --jsonl and --column take keys from records',
    () => {
      const input = '{"id":"name7","n":1}\n{"id":"other7","n":2}\n';
      expect(run(['check', 'users', '--jsonl', '.id'], { input }).stdout).toBe('{"id":"name7","n":1}\n');
      const csv = 'id,n\nother1,2\nname9,1\n';
      expect(run(['check', 'users', '--column', 'id'], { input: csv }).stdout).toBe('name9,1\n');
    },
    SLOW_MS,
  );

  test(
    'watch prints a line for each change, and leaves at a signal',
    async () => {
      const child = startBloomery([
        'redis',
        'watch',
        'users',
        '--url',
        server.url,
        '--interval',
        '0.05',
        '--json',
      ]);
      const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await said.next()).value as string);
      let seen = await next();
      while (seen.state !== 'live') seen = await next();
      const before = seen.entries;
      run(['add', 'users', '--quiet'], { input: 'one more\n' });
      while (seen.entries === before) seen = await next();
      expect(seen.state).toBe('live');
      const gone = once(child, 'exit');
      child.kill('SIGINT');
      expect(await gone).toEqual([null, 'SIGINT']);
      // The member left: it is not waited for after a failover.
      expect(server.cli('HLEN', 'bloomery:{users}:members')).toBe('0');
    },
    SLOW_MS,
  );

  test(
    'a secret key is needed where the filter has one',
    () => {
      writeFileSync(join(cwd, 'secret'), '00112233445566778899aabbccddeeff');
      expect(run(['attach', 'hidden', '--capacity', '100', '--key-file', 'secret']).code).toBe(0);
      expect(run(['add', 'hidden', '--key-file', 'secret', '-q'], { input: 'ada\n' }).code).toBe(0);
      expect(run(['check', 'hidden', '--key-file', 'secret'], { input: 'ada\nbob\n' }).stdout).toBe('ada\n');
      const { code, stderr } = run(['check', 'hidden'], { input: 'ada\n' });
      expect([code, stderr]).toEqual([2, expect.stringContaining('has another hash; give its --key-file')]);
    },
    SLOW_MS,
  );
});

describe('redis over TLS, as a user of the server', () => {
  test(
    'rediss:// with a certificate of an own authority',
    async () => {
      const files = ['-keyout', 'key.pem', '-out', 'cert.pem', '-subj', '/CN=localhost'];
      const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
      execFileSync(
        'openssl',
        ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...files, ...names],
        {
          cwd,
          stdio: 'ignore',
        },
      );
      const tls = ['--tls-cert-file', join(cwd, 'cert.pem'), '--tls-key-file', join(cwd, 'key.pem')];
      const port = String(server.port > 40_000 ? server.port - 7919 : server.port + 7919);
      const words = ['--save', '', '--tls-port', port, ...tls, '--tls-auth-clients', 'no'];
      await using secure = await RedisServer.start({ words });
      const rights = '+@read +@write +@scripting +@connection +info +time +wait +xinfo';
      secure.cli('ACL', 'SETUSER', 'app', 'on', '>secret-word', '~bloomery:*', ...rights.split(' '));
      const env = {
        REDIS_URL: `rediss://app:secret-word@127.0.0.1:${port}`,
        NODE_EXTRA_CA_CERTS: join(cwd, 'cert.pem'),
      };
      expect(run(['attach', 'users', '--capacity', '100'], { env }).stderr).toBe('');
      expect(run(['add', 'users'], { env, input: 'ada\n' }).stdout).toMatch(/^1 keys added, the last as /);
      expect(run(['check', 'users'], { env, input: 'ada\nbob\n' }).stdout).toBe('ada\n');
      const stranger = { ...env, NODE_EXTRA_CA_CERTS: '' };
      expect(run(['check', 'users'], { env: stranger, input: 'ada\n' }).stderr).toMatch(
        /rediss:\/\/app:\*\*\*@127\.0\.0\.1:\d+ cannot be used: .*certificate/,
      );
    },
    SLOW_MS,
  );
});

describe('redis with bad input says one clear line, and exits with 2', () => {
  const expectError = (
    args: string[],
    message: RegExp,
    env: Record<string, string> = { REDIS_URL: server.url },
  ) => {
    const { code, stdout, stderr } = run(args, { env, input: 'a\n' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n').length).toBe(1);
    expect(stderr).not.toContain('wrong-password');
  };

  test(
    'a server that is away, and an address that is none',
    () => {
      expectError(
        ['check', 'users', '--url', 'redis://127.0.0.1:1'],
        /redis:\/\/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/,
      );
      expectError(
        ['check', 'users', '--url', 'http://u:wrong-password@h'],
        /--url is no address of Redis; it looks like/,
      );
      expectError(['check', 'users'], /REDIS_URL is no address of Redis/, { REDIS_URL: 'nonsense' });
    },
    SLOW_MS,
  );

  test(
    'a wrong password, and a user without the rights',
    async () => {
      server.cli('ACL', 'SETUSER', 'app', 'on', '>right', '~bloomery:*', '+@all');
      server.cli('ACL', 'SETUSER', 'weak', 'on', '>right', '~other:*', '+@all');
      const { port } = server;
      const url = (user: string, password: string) => `redis://${user}:${password}@127.0.0.1:${port}`;
      expectError(
        ['check', 'users', '--url', url('app', 'wrong-password')],
        /cannot be used: wrong user or password/,
      );
      expectError(['check', 'users', '--url', url('weak', 'right')], /cannot be used: .*(right|permission)/i);
      expect(run(['check', 'users', '--url', url('app', 'right')], { input: 'name1\n' }).stdout).toBe(
        'name1\n',
      );
    },
    SLOW_MS,
  );

  test(
    'an unknown name, a name that is none, a wrong id, an odd option',
    () => {
      expectError(
        ['check', 'absent'],
        /there is no filter absent on .*; bloomery redis attach absent --capacity KEYS makes one/,
      );
      expectError(['attach', 'absent'], /there is no filter absent/);
      expectError(['attach', 'a b', '--capacity', '1k'], /"a b" is no name of a filter/);
      expectError(['check', 'users', '--after', 'then'], /--after then is no id that an add printed/);
      expectError(['export', 'absent', '-o', 'nowhere/users.blm'], /there is no directory nowhere/);
    },
    SLOW_MS,
  );

  test(
    'a server that deletes keys when its memory is full',
    async () => {
      await using evicting = await RedisServer.start({
        words: ['--save', '', '--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
      });
      const env = { REDIS_URL: evicting.url };
      const args = ['attach', 'users', '--capacity', '1k'];
      expectError(
        args,
        /deletes keys when its memory is full.*maxmemory-policy to noeviction, or give --accept-eviction/,
        env,
      );
      expect(run([...args, '--accept-eviction'], { env }).code).toBe(0);
    },
    SLOW_MS,
  );

  test('a command without a client, which is not bundled', () => {
    const alone = temporaryFolder();
    cpSync(join(PACKAGE, 'bin'), join(alone, 'bin'), { recursive: true });
    writeFileSync(join(alone, 'package.json'), '{"type":"module"}');
    const words = [join(alone, 'bin/bloomery.js'), 'redis', 'check', 'users'];
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: alone, encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      2,
      'bloomery: error: redis needs one of the npm packages redis and ioredis; npm install redis\n',
    ]);
  });
});
