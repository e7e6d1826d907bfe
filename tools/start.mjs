// `npm start`: runs the HTTP cache with its defaults (a forward proxy for this machine, memory and disk), after making a fresh clone ready
// if it is not. `npm start -- --help` shows all settings. What was built is used again while no source is newer.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail, setUp } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const command = join(root, 'apps/cli/bin/bloomery.js');
/** What is run, and what it is made of. */
const BUILT = {
  'packages/bloomery': 'dist/index.js',
  'packages/files': 'dist/index.js',
  'packages/stores': 'dist/dictionaries/spelling/index.js',
  'packages/cache': 'dist/index.js',
  'apps/cli': '../../packages/bloomery/bin/main.js',
};

if (!isReady()) {
  setUp();
  if (!isBuilt()) fail('npm run build did not build the cache; see its output above.');
}
// Files are named from where npm was called, not from where it runs this.
process.chdir(process.env.INIT_CWD ?? process.cwd());
process.argv.splice(1, Number.POSITIVE_INFINITY, command, 'cache', ...process.argv.slice(2));
await import(command);

function isReady() {
  const installed = join(root, 'node_modules/.package-lock.json');
  if (
    !existsSync(installed) ||
    statSync(installed).mtimeMs < statSync(join(root, 'package-lock.json')).mtimeMs
  )
    return false;
  // The command is a bundle: it must be younger than the sources of all.
  const built = (name) => statSync(join(root, name, BUILT[name])).mtimeMs;
  return (
    isBuilt() &&
    Object.keys(BUILT).every(
      (name) => newest(join(root, name, 'src')) <= Math.min(built(name), built('apps/cli')),
    )
  );
}

function isBuilt() {
  return Object.entries(BUILT).every(([name, file]) => existsSync(join(root, name, file)));
}

/** Tests are not built. */
function newest(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const times = files
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs);
  return Math.max(...times);
}
