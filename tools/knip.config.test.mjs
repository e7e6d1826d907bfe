import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import config from './knip.config.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

test('every file that the configuration of knip names exists, so that none is left out by a typing error', () => {
  const named = Object.entries(config.workspaces).flatMap(([folder, { entry }]) =>
    [...entry].filter((path) => !/[*{]/.test(path)).map((path) => join(folder, path)),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
