import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lockFileProblems } from './lock-file.mjs';

const HOW_TO_MEND = 'see "The lock file" in CONTRIBUTING.md';

for (const path of ['package-lock.json', 'bench/package-lock.json']) {
  test(`${path} is one that npm ci accepts with any registry`, () => {
    const lock = JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));
    expect(lockFileProblems(lock), HOW_TO_MEND).toEqual([]);
  });
}

const locked = (more = {}) => ({ version: '1.0.0', integrity: 'sha512-x', ...more });

test('lockFileProblems names an optional package that is not listed', () => {
  const packages = {
    '': {},
    'node_modules/linter': locked({
      optionalDependencies: { '@linter/linux': '1.0.0', '@linter/mac': '1.0.0' },
    }),
    'node_modules/@linter/linux': locked(),
  };
  expect(lockFileProblems({ packages })).toEqual([
    'node_modules/linter may need @linter/mac, which is not listed',
  ]);
});

test('lockFileProblems finds an optional package in the folder of its user and in each folder above', () => {
  const packages = {
    '': {},
    'node_modules/a': locked({ optionalDependencies: { near: '1.0.0', far: '1.0.0' } }),
    'node_modules/a/node_modules/near': locked({ optionalDependencies: { far: '1.0.0' } }),
    'node_modules/far': locked(),
    'packages/own': { optionalDependencies: { far: '1.0.0' } },
  };
  expect(lockFileProblems({ packages })).toEqual([]);
});

test('lockFileProblems names a download address and a missing checksum', () => {
  /** @type {Record<string, import('./lock-file.mjs').LockEntry & { version?: string }>} */
  const packages = {
    '': {},
    'packages/own': {},
    'node_modules/own': { resolved: 'packages/own', link: true },
    'node_modules/a': locked({ resolved: 'https://registry.example/a.tgz' }),
    'node_modules/b': { version: '1.0.0' },
  };
  expect(lockFileProblems({ packages })).toEqual([
    'node_modules/a has a download address: https://registry.example/a.tgz',
    'node_modules/b has no checksum',
  ]);
});
