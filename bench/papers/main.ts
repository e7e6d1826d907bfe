/**
 * `npm run papers`: writes docs/papers/papers.md and docs/papers/figures again, by the command
 * `bloomery papers`. The program behind it is apps/papers. Arguments, if there are any, replace
 * those that write the documents.
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const DOCUMENTS = ['--markdown', 'docs/papers/papers.md', '--figures', 'docs/papers/figures', '--force'];

const given = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  ['apps/cli/bin/bloomery.js', 'papers', ...(given.length > 0 ? given : DOCUMENTS)],
  { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: 'inherit' },
);
process.exitCode = status ?? 2;
