/** `bloomery simulate` as an operator uses it: real files, the built command, small fleets. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const simulate = (line: string, input: string | Uint8Array = '') =>
  bloomery(['simulate', ...line.split(' ').filter((word) => word !== '')], { cwd: folder, input });

interface PolicyFigures {
  readonly policy: string;
  readonly requests: number;
  readonly localHits: number;
  readonly neighbourHits: number;
  readonly originFetches: number;
  readonly shock?: { before: number; after: number; end: number };
}

function figures(line: string, input?: string | Uint8Array) {
  const { code, stdout, stderr } = simulate(`${line} --json`, input);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout) as {
    source: Record<string, unknown>;
    nodes: number;
    capacity: Record<string, number>;
    warmUpRequests: number;
    policies: PolicyFigures[];
  };
}

/** A line ten seconds after the one before, so that every fetch is over and every update told. */
function log(...requests: [client: string, path: string][]): string {
  return requests
    .map(([client, path], i) => {
      const time = new Date(Date.UTC(2026, 0, 1) + 10_000 * i).toISOString().slice(11, 19);
      return `${client} - - [01/Jan/2026:${time} +0000] "GET ${path} HTTP/1.1" 200 1000 "-" "test"\n`;
    })
    .join('');
}

const SMALL = log(['a', '/x'], ['b', '/x'], ['a', '/x'], ['b', '/y'], ['a', '/y'], ['b', '/z']);

beforeAll(() => {
  writeFileSync(at('small.log'), SMALL);
  writeFileSync(at('small.log.gz'), gzipSync(SMALL));
  writeFileSync(at('small.log.xz'), execFileSync('xz', ['-c'], { input: SMALL }));
});

describe('a log of six requests', () => {
  const line = 'small.log --nodes 2 --cache-size 1MB --warm-up 0';

  test('gives the figures that can be counted by hand', () => {
    const { source, nodes, capacity, policies } = figures(`${line} --policy icp,hashing,summaries`);
    expect(source).toMatchObject({ format: 'common', requests: 6, objects: 3, clients: 2, malformed: 0 });
    expect({ nodes, capacity }).toEqual({ nodes: 2, capacity: { bytes: 1e6 } });
    const origin = Object.fromEntries(policies.map(({ policy, originFetches }) => [policy, originFetches]));
    // Alone, x and y are fetched by both nodes, and z by one. Together, each of the three once.
    expect(origin).toEqual({ alone: 5, icp: 3, hashing: 3, summaries: 3 });
    for (const { policy, localHits, neighbourHits, originFetches } of policies)
      expect(localHits + neighbourHits + originFetches, policy).toBe(6);
  });

  test('is the same packed, and from standard input', () => {
    const plain = figures(line).policies;
    expect(figures(line.replace('small.log', 'small.log.gz')).policies).toEqual(plain);
    expect(figures(line.replace('small.log', 'small.log.xz')).policies).toEqual(plain);
    expect(figures(line.replace('small.log', '-'), SMALL).policies).toEqual(plain);
  });

  test('becomes a table with a legend and a verdict', () => {
    const { code, stdout, stderr } = simulate(line);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^small\.log: 6 requests of 2 clients for 3 objects of 3\.00 kB; one cache/);
    expect(stdout).toMatch(/^2 nodes with caches of 1\.00 MB; 0 requests \(0\.0 %\) fill the caches/m);
    expect(stdout).toMatch(/^policy +own +neighbour +origin +saved/m);
    expect(stdout).toMatch(/^alone +16\.7 % +0\.0 % +83\.3 % +- /m);
    expect(stdout).toMatch(/^saved +fetches from the origin that cooperation saved, compared with alone$/m);
    expect(stdout).toMatch(/^With summaries, the origin sees 3 instead of 5 fetches \(40\.0 % saved\)/m);
    expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(120);
    expect(stdout).not.toContain('\u001b');
  });

  test('is explained on request', () => {
    const { stdout } = simulate(`${line} --policy hashing --explain`);
    expect(stdout).toContain('alone: Each node has its own cache');
    expect(stdout).toContain('hashing: A hash of its name gives each object one owner');
    expect(stdout).not.toContain('icp:');
    expect(stdout).toContain('Left out: HTTP itself');
  });

  test('with a broken line is read, and the line is named', () => {
    const { code, stderr } = simulate('- --policy alone', `${SMALL}half a li\n`);
    expect(code).toBe(0);
    expect(stderr).toBe(
      'bloomery: warning: standard input, line 7: expected the format "common", got "half a li"; 1 of 7 lines could not be read\n',
    );
  });
});

describe('requests by law', () => {
  const line = '--zipf 0.8 --objects 1e3 --requests 4k --nodes 4 --cache-objects 50 --policy hashing';

  test('are the same for the same seed, and others for another', () => {
    const first = figures(line);
    expect(first).toMatchObject({ capacity: { objects: 50 }, warmUpRequests: 1000 });
    expect(first.policies[0].requests).toBe(3000);
    expect(figures(line)).toEqual(first);
    expect(figures(`${line} --seed 2`).policies).not.toEqual(first.policies);
  });

  test('with tastes leave less to share', () => {
    const [, alike] = figures(line).policies;
    const [, unlike] = figures(`${line} --tastes 90%`).policies;
    expect(unlike.originFetches).toBeGreaterThan(alike.originFetches);
  });

  test('show the shock of nodes that start empty, in a table and as a plot', () => {
    const shocked = `${line} --replace 50% --plot shock.svg`;
    const { code, stdout } = simulate(shocked);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Requests to the origin when 50\.0 % of the nodes are replaced by empty ones:$/m);
    expect(stdout).toMatch(/^policy +before +right after +at the end$/m);
    expect(readFileSync(at('shock.svg'), 'utf8')).toMatch(
      /^<svg .*Fetches from the origin when 50 % of the nodes/,
    );
    const again = simulate(shocked);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('shock.svg exists already')]);
    expect(simulate(`${shocked} --force`).code).toBe(0);
    const [, hashing] = figures(`${line} --replace 50%`).policies;
    expect(hashing.shock!.after).toBeGreaterThan(hashing.shock!.before);
  });

  test('are drawn as bars by policy', () => {
    expect(simulate(`${line} --plot bars.svg`).code).toBe(0);
    expect(readFileSync(at('bars.svg'), 'utf8')).toContain('>hashing</text>');
  });
});

describe('what cannot be simulated is one line and exit code 2', () => {
  test.each([
    ['missing.log', /missing\.log: no such file or directory/],
    ['small.log --zipf 1', /--zipf makes requests, so no file can be given/],
    ['small.log --objects 5', /--objects is about generated requests; --zipf 0\.8 makes them/],
    ['--zipf 1 --deal random', /--deal is about files, and --zipf reads none/],
    ['small.log --policy carp', /--policy carp is unknown; there are alone, icp/],
    ['small.log --cache-size 1MB --cache-objects 5', /--cache-size and --cache-objects say the same/],
    ['small.log --nodes 5000', /Expected at most 1024 nodes/],
    ['small.log --copies 95%', /--policy summaries: .*expected copies to be 0 to 0\.9, or 1, got 0\.95/],
    [
      'small.log --format squid',
      /expected requests in the format "squid", got "a - - .*\(small\.log, line 1\)/,
    ],
    ['small.log --plot nowhere/x.svg', /there is no directory nowhere for x\.svg/],
  ])('%s', (line, message) => {
    const { code, stdout, stderr } = simulate(line);
    expect(stderr).toMatch(message);
    expect([code, stdout]).toEqual([2, '']);
    expect(existsSync(at('x.svg'))).toBe(false);
  });

  test('a file that is no trace, and clients that are not there', () => {
    const noTrace = simulate('-', 'this is\nno trace\n');
    expect(noTrace.stderr).toMatch(/got "this is" \(standard input, line 1\); --format says what it is/);
    expect(noTrace.code).toBe(2);
    const noClients = simulate('- --deal clients', 'one\ntwo\n');
    expect(noClients.stderr).toContain('--deal clients needs clients, and this trace names none');
    expect(noClients.code).toBe(2);
  });
});
