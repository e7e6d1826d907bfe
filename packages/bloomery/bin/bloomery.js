#!/usr/bin/env node
// The command `bloomery`: the file that npm links to. Everything else in this folder is built from
// apps/cli by its build.mjs. This file is in the repository, so that npm can make its link before
// the build.

const { existsSync } = process.getBuiltinModule('node:fs');
const { createRequire, enableCompileCache } = process.getBuiltinModule('node:module');

const built = new URL('./main.js', import.meta.url);
if (existsSync(built)) {
  // Node 22.8 and later keep compiled code. Not in the folder for temporary files, Node's default:
  // other users can write there.
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`);
  if (caches) enableCompileCache?.(`${caches}/bloomery/compiled`);
  const args = process.argv.slice(2);
  // A search takes a few milliseconds, and its start the rest: `grep` is a program in one file.
  const isGrep = args.find((argument) => !argument.startsWith('-')) === 'grep';
  const { main } = isGrep ? createRequire(import.meta.url)('./grep.cjs') : await import(built.href);
  await main(args);
  // After an error the command ends at once. It does not wait for an unread pipe or for a thread.
  if (process.exitCode) process.exit();
} else {
  console.error('bloomery: not built yet; in the repository: npm run build');
  process.exitCode = 2;
}
