// Checks where tests lie, and how many files one folder holds.
//
// A test in src lies next to the module that it names: `x.test.ts`, or `x-<aspect>.test.ts` for one
// aspect of x.ts. A test of several modules together lies in `test/<theme>/`; one that imports a
// single module, which is no barrel, belongs next to that. Code that only tests use lies in `test/`
// or in the test kit, so no other file imports vitest.

import { posix } from 'node:path';
import * as tables from './tables.mjs';
import { productFiles, TABLES } from './workspace.mjs';

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {Pick<typeof tables, 'MOST_FILES' | 'CROWDED_EXCEPTIONS' | 'PLACE_EXCEPTIONS'>} [lists]
 * @returns {string[]} problems
 */
export function checkPlaces(workspace, { MOST_FILES, CROWDED_EXCEPTIONS, PLACE_EXCEPTIONS } = tables) {
  const paths = new Set(workspace.files.map(({ path }) => path));
  /** @type {string[]} */
  const problems = [];
  const used = new Set();
  for (const file of workspace.files.filter((file) => TEST.test(file.path))) {
    const { path, home } = file;
    if (posix.dirname(path) === `${home}/test`)
      problems.push(`${path}: is a test directly in test/, expected test/<theme>/`);
    else if (path.startsWith(`${home}/src/`) && !hasModule(path, paths))
      problems.push(`${path}: names no module beside it, expected x.test.ts beside x.ts, or test/<theme>/`);
    const alone = path.startsWith(`${home}/test/`) ? onlyModule(file) : null;
    if (alone === null) continue;
    const exception = PLACE_EXCEPTIONS.find((one) => one.path === path);
    if (exception !== undefined) used.add(exception);
    else problems.push(`${path}: tests one module, expected its place beside ${alone}`);
  }
  for (const { path, imports } of productFiles(workspace)) {
    if (imports.some(({ specifier }) => specifier === 'vitest'))
      problems.push(`${path}: imports vitest, expected it in test/ or in packages/testkit`);
  }
  for (const { path } of PLACE_EXCEPTIONS.filter((one) => !used.has(one)))
    problems.push(`${path}: no longer needs its exception: remove it from PLACE_EXCEPTIONS in ${TABLES}`);
  return [...problems, ...crowded(workspace, MOST_FILES, CROWDED_EXCEPTIONS)];
}

const TEST = /(?:\.node|\.browser)?\.test\.ts$/;

/**
 * The one module that a test imports, or null if it imports none, several, a barrel, or helpers of
 * its own folder.
 * @param {import('./workspace.mjs').SourceFile} file
 */
function onlyModule({ home, imports }) {
  const own = imports.filter(({ target }) => target !== null).map(({ target }) => `${target}`);
  const packages = imports.filter(({ specifier }) => /^(?:bloomery|@bloomery\/(?!testkit))/.test(specifier));
  const modules = [...new Set(own)];
  if (modules.length !== 1 || packages.length > 0) return null;
  const [module] = modules;
  return module.startsWith(`${home}/src/`) && !module.endsWith('/index.ts') ? module : null;
}

/**
 * @param {string} path
 * @param {Set<string>} paths
 */
function hasModule(path, paths) {
  const folder = posix.dirname(path);
  const words = posix.basename(path).replace(TEST, '').split('-');
  return words.some((_, i) => {
    const module = `${folder}/${words.slice(0, i + 1).join('-')}`;
    return paths.has(`${module}.ts`) || paths.has(`${module}.tsx`);
  });
}

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {number} most
 * @param {{ folder: string }[]} exceptions
 */
function crowded(workspace, most, exceptions) {
  const counts = new Map();
  for (const { path } of productFiles(workspace)) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const full = [...counts].filter(([, count]) => count > most);
  const excepted = exceptions.map(({ folder }) => folder);
  return [
    ...full
      .filter(([folder]) => !excepted.includes(folder))
      .map(([folder, count]) => `${folder}: holds ${count} source files, give them rooms (at most ${most})`),
    ...excepted
      .filter((folder) => !full.some(([other]) => other === folder))
      .map(
        (folder) =>
          `${folder}: no longer needs its exception: remove it from CROWDED_EXCEPTIONS in ${TABLES}`,
      ),
  ];
}
