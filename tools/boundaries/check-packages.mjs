// Packages import only packages of lower rank that they declare. npm hoists, so an import of an
// undeclared package would work by accident.

import * as tables from './tables.mjs';
import { TABLES } from './workspace.mjs';

const SCOPE = '@bloomery/';

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {Pick<typeof tables, 'RANKS' | 'SIDEWAYS' | 'SYSTEM_RANK' | 'OUTSIDE_EXCEPTIONS'>} [lists]
 * @returns {string[]} problems
 */
export function checkPackages(workspace, { RANKS, SIDEWAYS, SYSTEM_RANK, OUTSIDE_EXCEPTIONS } = tables) {
  const problems = [];
  const known = new Map(workspace.packages.map((one) => [one.manifest.name, one]));
  for (const { home, name, manifest } of workspace.packages) {
    if (RANKS[name] === undefined && name !== 'testkit')
      problems.push(`${home}: has no rank, add it to RANKS in ${TABLES}`);
    if (name === 'bloomery' && Object.keys(dependenciesOf(manifest)).length > 0)
      problems.push(`${home}: declares dependencies, which the library has none of`);
  }
  for (const file of workspace.files) {
    const manifest = workspace.packages.find(({ home }) => home === file.home)?.manifest;
    if (manifest === undefined) continue;
    for (const { specifier, kind, target } of file.imports) {
      const reason = target === null ? refusal(file, manifest, specifier) : outside(file, kind, target);
      if (reason !== null) problems.push(`${file.path}: imports ${specifier}, which ${reason}`);
    }
  }
  return problems;

  /**
   * @param {import('./workspace.mjs').SourceFile} file
   * @param {import('../workspaces.mjs').Manifest} manifest
   * @param {string} specifier
   */
  function refusal(file, manifest, specifier) {
    if (specifier.startsWith('node:'))
      return file.package === 'bloomery' && !file.isTest ? 'the library does not use' : null;
    const target = packageName(specifier);
    const name = target.replace(SCOPE, '');
    if (name === 'testkit' && target !== name) return file.isTest ? null : 'is for tests only';
    if (target === manifest.name) return null;
    if (file.isTest && workspace.testTools.includes(target)) return null;
    const declared = { ...dependenciesOf(manifest), ...(file.isTest ? manifest.devDependencies : {}) };
    if (declared[target] === undefined) return `is not declared for ${file.home}`;
    return known.has(target) ? against(file, name) : null;
  }

  /**
   * @param {import('./workspace.mjs').SourceFile} file
   * @param {string} name
   */
  function against(file, name) {
    const isSystem = RANKS[file.package] === SYSTEM_RANK;
    if (name === 'sim' && isSystem && !file.isTest && !file.path.startsWith(`${file.home}/src/simulation/`))
      return 'a system imports only in its simulation/ room';
    if (SIDEWAYS[file.package]?.includes(name) || file.package === 'testkit') return null;
    return RANKS[name] >= RANKS[file.package] ? `does not stand below ${file.package}` : null;
  }

  /**
   * A URL in a test names a file to read or a program to run, such as a page of docs/.
   * @param {import('./workspace.mjs').SourceFile} file
   * @param {import('./imports.mjs').ImportKind} kind
   * @param {string} target
   */
  function outside(file, kind, target) {
    if (`${target}/`.startsWith(`${file.home}/`)) return null;
    if (/^(?:packages|apps)\/[^/]+\/test\//.test(target)) return 'lies in the tests of another package';
    if (kind === 'url' && file.isTest) return null;
    const isExcepted = OUTSIDE_EXCEPTIONS.some(({ from, to }) => from === file.path && target.startsWith(to));
    return isExcepted ? null : `lies outside ${file.home}`;
  }
}

/**
 * @param {import('../workspaces.mjs').Manifest} manifest
 * @returns {Record<string, string>}
 */
function dependenciesOf({ dependencies, peerDependencies }) {
  return { ...dependencies, ...peerDependencies };
}

/** @param {string} specifier */
function packageName(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
