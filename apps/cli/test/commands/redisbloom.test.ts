/**
 * Filters of RedisBloom through the shell: united, and from and to a server by `redis-cli`. A plain
 * server stands in for one with the module: its RPUSH is renamed to BF.LOADCHUNK, so it keeps the
 * words of each command as they arrived. `BLOOMERY_REDISBLOOM_URL` names a server that has the
 * module.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEYS, REDISBLOOM, REDISBLOOM_CHAIN } from '@bloomery/testkit/golden/foreign-files';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const SLOW = { timeout: 60_000 };
const cwd = temporaryFolder();
const put = (name: string, bytes: Uint8Array | string) => writeFileSync(join(cwd, name), bytes);
const run = (...args: string[]) => bloomery(args, { cwd });
put('one.chunks', REDISBLOOM);
put('chain.chunks', REDISBLOOM_CHAIN);
put('keys.txt', `${KEYS.join('\n')}\n`);

const pipe = (port: number, file: string) =>
  execFileSync('redis-cli', ['-h', '127.0.0.1', '-p', String(port), '--pipe'], {
    input: readFileSync(join(cwd, file)),
    encoding: 'utf8',
  });

test.each([
  ['one.chunks', REDISBLOOM],
  ['chain.chunks', REDISBLOOM_CHAIN],
])('redis-cli takes the commands for %s, and every byte arrives', SLOW, async (name, golden) => {
  const words = ['--save', '', '--rename-command', 'RPUSH', 'BF.LOADCHUNK'];
  await using server = await RedisServer.start({ words });
  expect(run('convert', name, '--to', 'redis-cli', '-o', 'x').stderr).toContain('needs --redis-key');
  const made = run('convert', name, '--to', 'redis-cli', '--redis-key', 'seen', '-o', 'load.resp', '--force');
  expect(made.stderr).toBe('');
  const chunks = RedisBloomFilter.decode(golden).toChunks();
  expect(pipe(server.port, 'load.resp')).toContain(`errors: 0, replies: ${chunks.length}`);
  // redis-cli prints what arrived as it prints an answer of BF.SCANDUMP, which is read again.
  const script =
    "return {tonumber(redis.call('LINDEX', 'seen', ARGV[1])), redis.call('LINDEX', 'seen', ARGV[1] + 1)}";
  const answers = chunks.map((_, i) => server.cli('--no-raw', 'EVAL', script, '0', String(2 * i)));
  put('seen.dump', `${[...answers, '1) (integer) 0\n2) ""'].join('\n')}\n`);
  expect(run('check', 'seen.dump', '-c', 'keys.txt').stdout).toBe(`${KEYS.length}\n`);
  expect(run('convert', 'seen.dump', '--to', 'redisbloom', '-o', 'back.chunks', '--force').stderr).toBe('');
  expect(readFileSync(join(cwd, 'back.chunks')).equals(golden)).toBe(true);
});

test('a dump that is cut or damaged is one clear line', () => {
  const text = '1) (integer) 1\n2) "\\x01\\x00"\n';
  for (const broken of [text, text.slice(0, -4), text.replace('\\x00', '\\q0'), `${text}3) "x"\n`]) {
    put('broken.dump', broken);
    const { code, stderr } = run('info', 'broken.dump');
    expect(code).toBe(2);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  }
});

test('union of filters with different links keeps all keys and the rate', SLOW, () => {
  const { code, stderr } = run('union', 'one.chunks', 'chain.chunks', '-o', 'both.chunks');
  expect([code, stderr]).toEqual([0, '']);
  const both = RedisBloomFilter.decode(readFileSync(join(cwd, 'both.chunks')));
  expect(both.links).toHaveLength(6);
  expect(run('check', 'both.chunks', '-c', 'keys.txt').stdout).toBe(`${KEYS.length}\n`);
  expect(both.estimatedFalsePositiveRate()).toBeLessThan(0.02);
});

const BLOOM_URL = process.env.BLOOMERY_REDISBLOOM_URL;

test.skipIf(BLOOM_URL === undefined)(
  'a server with the module takes the filter, and gives it back',
  SLOW,
  () => {
    const { hostname, port } = new URL(BLOOM_URL as string);
    const key = `bloomery-test-${process.pid}`;
    const cli = (...words: string[]) =>
      execFileSync('redis-cli', ['-h', hostname, '-p', port || '6379', ...words], {
        encoding: 'utf8',
      }).trim();
    run('union', 'one.chunks', 'chain.chunks', '-o', 'live.chunks', '--force');
    run('convert', 'live.chunks', '--to', 'redis-cli', '--redis-key', key, '-o', 'live.resp', '--force');
    try {
      execFileSync('redis-cli', ['-h', hostname, '-p', port || '6379', '--pipe'], {
        input: readFileSync(join(cwd, 'live.resp')),
      });
      for (const word of KEYS.slice(0, 50)) expect(cli('BF.EXISTS', key, word)).toBe('1');
      const answers: string[] = [];
      for (let iterator = '0'; ; ) {
        const answer = cli('--no-raw', 'BF.SCANDUMP', key, iterator);
        iterator = /\(integer\) (\d+)/.exec(answer)?.[1] ?? '0';
        if (iterator === '0') break;
        answers.push(answer);
      }
      put('live.dump', `${answers.join('\n')}\n`);
      expect(run('convert', 'live.dump', '--to', 'redisbloom', '-o', 'live-back.chunks').stderr).toBe('');
      const [sent, back] = ['live.chunks', 'live-back.chunks'].map((name) => readFileSync(join(cwd, name)));
      expect(back.equals(sent)).toBe(true);
    } finally {
      cli('DEL', key);
    }
  },
);
