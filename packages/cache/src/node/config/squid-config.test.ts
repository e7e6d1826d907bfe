import { expect, test } from 'vitest';
import { configProblems } from '../../../test/node/config-problems.ts';
import { loadConfig, printConfig } from './node-config.ts';
import { settingsForRestart, withoutRestart } from './reload-rules.ts';

const load = (flags: Record<string, unknown>) => loadConfig({ flags });

const problemsOf = (flags: Record<string, unknown>) => configProblems(() => load(flags));

test('a node has no Squids by default, and those of --squid with the settings of a fleet', () => {
  expect(load({}).squids).toBeNull();
  const { squids, warnings } = load({
    squid: ['10.0.0.9:3128', 'http://[fd00::9]:3128/'],
    peerBudget: '100ms',
    peerCopies: '25%',
    share: ['https://cdn.example/'],
  });
  expect(squids).toEqual({
    addresses: ['http://10.0.0.9:3128', 'http://[fd00::9]:3128'],
    digestBits: null,
    budgetMs: 100,
    memoryBytes: 128e6,
    copiesShare: 0.25,
    share: ['https://cdn.example/'],
  });
  expect(warnings).toEqual([]);
});

test('settings for Squids are printed so that they give the same node', () => {
  for (const flags of [
    { squid: ['http://10.0.0.9:3128'], peerMemory: '64MB' },
    { squidDigest: true },
    { squidDigest: true, squidDigestBits: '16', squid: ['http://10.0.0.9:3128'] },
  ]) {
    const config = load(flags);
    const again = load(JSON.parse(printConfig(config)));
    expect(again.squids).toEqual(config.squids);
    expect(settingsForRestart(config, again)).toEqual([]);
  }
  expect(load({ squidDigest: true }).squids?.digestBits).toBe(8);
});

test('wrong settings for Squids are reported, each once', () => {
  const own = { listen: ['127.0.0.1:3128'] };
  expect(problemsOf({ ...own, squid: ['http://127.0.0.1:3128'] })).toEqual([
    'the Squid http://127.0.0.1:3128 is this node itself',
  ]);
  expect(problemsOf({ squid: ['10.0.0.9'] })[0]).toMatch(/expected the port of a Squid such as .* no port/);
  expect(problemsOf({ squid: ['a:1', 'http://a:1'] })).toEqual([
    'the Squid http://a:1 is given twice; expected each Squid once',
  ]);
  expect(problemsOf({ squidDigest: true, upstream: { '/': 'http://a/' } })).toEqual([
    '--squid-digest needs --forward: a Squid asks its siblings for URLs of any origin',
  ]);
  expect(problemsOf({ squidDigest: true, squidDigestBits: '4' })).toHaveLength(1);
  expect(problemsOf({ squid: ['a:1'], peerBudget: 'x' })).toHaveLength(1);
  expect(load({ squidDigestBits: '9' }).warnings).toEqual([
    'squidDigestBits has no effect without --squid-digest',
  ]);
});

test('a running node keeps its Squids until it is restarted', () => {
  const running = load({ squid: ['a:1'] });
  const wanted = load({ squid: ['b:1'], squidDigest: true });
  expect(settingsForRestart(running, wanted)).toEqual(['squid', 'squidDigest', 'squidDigestBits']);
  expect(withoutRestart(running, wanted).squids).toEqual(running.squids);
});
