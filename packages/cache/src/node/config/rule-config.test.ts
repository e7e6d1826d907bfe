import { describe, expect, it } from 'vitest';
import { matchesUrl } from '../../policy/freshness-rules.ts';
import { loadConfig } from './node-config.ts';
import { formatRule, parseRule, parseSetName, rulesOfSet } from './rule-config.ts';

const DAY = 86_400_000;

describe('parseRule', () => {
  it('reads a fixed time, and min, percent and max as refresh_pattern has them', () => {
    expect(parseRule('*.deb fresh 1d')).toEqual({ pattern: '*.deb', minMs: DAY, fraction: null, maxMs: DAY });
    expect(parseRule('/pool/* fresh 1h 20% 30d')).toEqual({
      pattern: '/pool/*',
      minMs: 3_600_000,
      fraction: 0.2,
      maxMs: 30 * DAY,
    });
    // In the environment, where spaces separate rules.
    expect(parseRule('*.deb;fresh;1d')).toEqual(parseRule('*.deb fresh 1d'));
  });

  it.each([
    '',
    '*.deb',
    '*.deb 1d',
    '*.deb stale 1d',
    '*.deb fresh',
    '*.deb fresh 1',
    '*.deb fresh -1d',
    '*.deb fresh 1d 20%',
    '*.deb fresh 1d 20 30d',
    '*.deb fresh 1d 20% 1h',
    '*.deb fresh 1d 20% 30d more',
  ])('refuses %j', (text) => {
    expect(() => parseRule(text)).toThrow(/Cannot read a rule: expected "\*\.deb fresh 1d" or .*, got/);
  });

  it.each(['*.deb fresh 1d', '/a fresh 0ms', '*.deb fresh 1d 20% 30d'])('writes %j as it was', (text) => {
    expect(formatRule(parseRule(text))).toBe(text);
  });
});

describe('the sets', () => {
  const first = (set: string, url: string) => rulesOfSet(set).find(({ pattern }) => matchesUrl(pattern, url));

  it.each<readonly [string, string, string | null]>([
    ['apt', 'http://mirror.example/debian/pool/main/h/hello/hello_2.10-3_amd64.deb', '30d'],
    ['apt', 'http://mirror.example/debian/pool/main/h/hello/hello_2.10.orig.tar.gz', '30d'],
    ['apt', 'http://mirror.example/debian/dists/bookworm/main/by-hash/SHA256/00', '30d'],
    ['apt', 'http://mirror.example/debian/dists/bookworm/InRelease', null],
    ['npm', 'https://registry.example/left-pad/-/left-pad-1.3.0.tgz', '30d'],
    ['npm', 'https://registry.example/left-pad', null],
    ['pip', 'https://files.example/packages/ab/cd/six-1.16.0-py2.py3-none-any.whl', '30d'],
    ['pip', 'https://pip.example/simple/six/', '10m'],
    ['cargo', 'https://static.example/crates/serde/serde-1.0.0.crate', '30d'],
    ['cargo', 'https://crates.example/api/v1/crates/serde/1.0.0/download', '30d'],
    ['cargo', 'https://index.example/se/rd/serde', null],
    ['maven', 'https://repo.example/maven2/a/b/1.0/b-1.0.jar', '30d'],
    ['maven', 'https://repo.example/maven2/a/b/1.0/b-1.0.jar.sha1', '30d'],
    ['maven', 'https://repo.example/maven2/a/b/maven-metadata.xml', '5m'],
    ['maven', 'https://repo.example/a/b/1.0-SNAPSHOT/b-1.0-20250101.1-1.jar', '0ms'],
  ])('%s: %s is fresh for %s', (set, url, expected) => {
    const rule = first(set, url);
    expect(rule === undefined ? null : formatRule(rule).split(' ')[2]).toBe(expected);
  });

  it('an unknown name is refused with the known ones', () => {
    expect(() => parseSetName('yum')).toThrow(/expected one of apt, npm, pip, cargo, maven, got "yum"/);
    expect(() => parseSetName('toString')).toThrow(/expected one of/);
  });
});

it('a configuration puts the rules of the operator before those of the sets', () => {
  const { policy, rules } = loadConfig({ flags: { rule: ['*.deb fresh 2d'], rules: ['npm,cargo'] } });
  expect(policy.rules.map(({ pattern }) => pattern)).toEqual([
    '*.deb',
    '*/-/*.tgz',
    '*.crate',
    '*/crates/*/download',
  ]);
  expect(rules.sets).toEqual(['npm', 'cargo']);
  expect(() => loadConfig({ flags: { rule: ['*.deb'] } })).toThrow(/--rule: Cannot read a rule/);
});
