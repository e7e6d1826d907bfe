import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reasonToBuild, reasonToInstall, startBuildRecord } from './build-record.mjs';

const RECORD = 'node_modules/.cache/bloomery/built';
let root = '';

/**
 * Writes a file whose time is `minute` minutes after some moment.
 * @param {string} path
 * @param {number} minute
 * @param {string | object} [content]
 */
function write(path, minute, content = '') {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  utimesSync(file, 60 * minute, 60 * minute);
}

/** A clone that was installed at minute 2 and built at minute 5. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bloomery-build-record-'));
  const scripts = { build: 'make' };
  write('package.json', 1, { workspaces: ['packages/*', 'apps/*'] });
  write('package-lock.json', 1);
  write('node_modules/.package-lock.json', 2);
  write('tsconfig.base.json', 1);
  const exports = { '.': { types: './dist/index.d.ts', default: './dist/index.js' }, './*': './dist/*.js' };
  write('packages/library/package.json', 1, { name: 'library', scripts, exports });
  write('packages/library/tsconfig.build.json', 1);
  write('packages/library/src/index.ts', 1);
  write('packages/library/src/deep/part.ts', 1);
  write('packages/library/dist/index.js', 5);
  write('packages/library/dist/index.d.ts', 5);
  write('packages/kit/package.json', 1, { name: 'kit' });
  write('packages/kit/src/index.ts', 1);
  const bin = { bloomery: 'bin/bloomery.js' };
  write('apps/cli/package.json', 1, {
    name: 'cli',
    scripts,
    bin,
    main: '../../packages/library/bin/main.js',
    dependencies: { library: '1', plots: '1' },
  });
  write('apps/cli/build.mjs', 1);
  write('apps/cli/bin/bloomery.js', 1);
  write('packages/library/bin/main.js', 5);
  write('apps/page/package.json', 1, { name: 'page', scripts });
  write('apps/page/dist/page.html', 5);
  write('apps/plots/package.json', 1, { name: 'plots' });
  write('apps/plots/src/index.ts', 1);
  write(RECORD, 5);
});
afterEach(() => rmSync(root, { recursive: true }));

test('reasonToBuild has none when every source is older than the last build', () => {
  expect(reasonToBuild(root)).toBeUndefined();
});

test.each([
  'packages/library/src/index.ts',
  'packages/library/src/deep/part.ts',
  'packages/library/src/added.ts',
  'packages/library/package.json',
  'packages/library/tsconfig.build.json',
  'apps/cli/build.mjs',
  'apps/plots/src/index.ts',
  'tsconfig.base.json',
])('reasonToBuild names %s when it was changed after the build, or during it', (path) => {
  const content = path.endsWith('package.json') ? { name: 'library', scripts: { build: 'make' } } : '';
  write(path, 5, content);
  expect(reasonToBuild(root)).toBe(`${path} is newer`);
});

test.each([
  'packages/library/src/index.test.ts',
  'packages/library/test/theme.ts',
  'packages/kit/src/index.ts',
])('reasonToBuild ignores %s, which is not built', (path) => {
  write(path, 9);
  expect(reasonToBuild(root)).toBeUndefined();
});

test.each([
  'packages/library/dist/index.js',
  'packages/library/dist/index.d.ts',
  'apps/page/dist',
  'packages/library/bin/main.js',
  'apps/cli/bin/bloomery.js',
])('reasonToBuild names %s when it is gone', (path) => {
  rmSync(join(root, path), { recursive: true });
  expect(reasonToBuild(root)).toBe(`${path} is not there`);
});

test('reasonToBuild asks for a build until one has finished', () => {
  rmSync(join(root, RECORD));
  expect(reasonToBuild(root)).toBe('they were not built yet');
  const record = startBuildRecord(root);
  expect(reasonToBuild(root)).toBe('they were not built yet');
  record.finish();
  expect(reasonToBuild(root)).toBeUndefined();
});

test('startBuildRecord forgets the build before, in case this one fails', () => {
  startBuildRecord(root);
  expect(reasonToBuild(root)).toBe('they were not built yet');
});

test('the record of a build has the time of its start', () => {
  const record = startBuildRecord(root);
  const [started] = readdirSync(join(root, dirname(RECORD)));
  utimesSync(join(root, dirname(RECORD), started), 60 * 6, 60 * 6);
  write('packages/library/src/index.ts', 7);
  record.finish();
  expect(reasonToBuild(root)).toBe('packages/library/src/index.ts is newer');
});

test('reasonToInstall has none when node_modules is at least as new as the lock file', () => {
  expect(reasonToInstall(root)).toBeUndefined();
  write('package-lock.json', 2);
  expect(reasonToInstall(root)).toBeUndefined();
});

test('reasonToInstall names what is missing or newer', () => {
  write('package-lock.json', 3);
  expect(reasonToInstall(root)).toBe('package-lock.json is newer than node_modules');
  rmSync(join(root, 'node_modules'), { recursive: true });
  expect(reasonToInstall(root)).toBe('node_modules is not there');
});
