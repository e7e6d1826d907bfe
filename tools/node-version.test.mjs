import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nodeVersionProblem } from './node-version.mjs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));

test.each(['20.19.0', '20.20.2', '22.12.0', '22.30.1', '24.0.0', '25.1.0', '100.0.0'])(
  'nodeVersionProblem accepts Node %s',
  (version) => expect(nodeVersionProblem(version, engines.node)).toBeUndefined(),
);

test.each(['18.20.8', '20.18.3', '20.9.0', '21.7.3', '22.11.0', '23.5.0', '9.99.0'])(
  'nodeVersionProblem refuses Node %s',
  (version) => expect(nodeVersionProblem(version, engines.node)).toContain(`, got ${version}`),
);

test('nodeVersionProblem names every version that would do', () => {
  expect(nodeVersionProblem('18.0.0', '^20.19 || >=24')).toBe(
    'Cannot run with this Node: expected 20.19 to 20.x or 24.0 or later, got 18.0.0',
  );
});

test('nodeVersionProblem compares numbers, not texts', () => {
  expect(nodeVersionProblem('20.9.0', '>=20.19')).toBeDefined();
  expect(nodeVersionProblem('100.0.0', '>=20.19')).toBeUndefined();
});

test('nodeVersionProblem refuses a range that it cannot read', () => {
  expect(() => nodeVersionProblem('20.19.0', '~20')).toThrow(RangeError);
});

test('package.json asks for the versions that vite and vitest ask for', () => {
  // .npmrc has engine-strict: with any other version, npm ci fails on these two packages.
  const asked = (/** @type {string} */ name) => lock.packages[`node_modules/${name}`].engines.node;
  expect([asked('vite'), asked('vitest')]).toEqual([
    '^20.19.0 || >=22.12.0',
    '^20.0.0 || ^22.0.0 || >=24.0.0',
  ]);
  expect(engines.node).toBe('^20.19 || ^22.12 || >=24');
});
