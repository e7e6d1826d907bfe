/**
 * The fields of a package in package-lock.json that are read here.
 * @typedef {object} LockEntry
 * @property {Record<string, string>} [optionalDependencies]
 * @property {string} [resolved]
 * @property {string} [integrity]
 * @property {boolean} [link]
 */

/**
 * Checks a package-lock.json for three faults that `npm install` leaves behind in silence:
 *
 * - A missing optional package. esbuild, Biome and others publish one package per platform and name
 *   all of them as optional. A registry that does not have some of them yet makes `npm install`
 *   leave these out of the lock file, and from then on `npm ci` refuses the file on every platform.
 * - A download address (`resolved`). It ties the lock file to the registry of the author; .npmrc
 *   leaves it out.
 * - A missing checksum (`integrity`), without which npm installs any bytes the registry sends.
 * @param {{ packages: Record<string, LockEntry> }} lock
 */
export function lockFileProblems(lock) {
  /** @type {string[]} */
  const problems = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!isLocked(lock.packages, path, name)) {
        problems.push(`${path || 'the root package'} may need ${name}, which is not listed`);
      }
    }
    if (!path.includes('node_modules/') || entry.link) continue;
    if (entry.resolved !== undefined) problems.push(`${path} has a download address: ${entry.resolved}`);
    if (entry.integrity === undefined) problems.push(`${path} has no checksum`);
  }
  return problems;
}

/**
 * Node's search: node_modules of the package itself, then of each folder above it.
 * @param {Record<string, LockEntry>} packages
 * @param {string} from
 * @param {string} name
 */
function isLocked(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    if (packages[folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`]) return true;
    if (folder === '') return false;
  }
}
