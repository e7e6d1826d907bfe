#!/usr/bin/env node
// The command `bloomery`: the file that npm links to. Everything else in this folder is built from
// apps/cli by its build.mjs. This file is in the repository, so that npm can make its link before
// the build.

import { existsSync } from 'node:fs';

const built = new URL('./main.js', import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  await main(process.argv.slice(2));
  // After an error the command ends at once. It does not wait for an unread pipe or for a thread.
  if (process.exitCode) process.exit();
} else {
  console.error('bloomery: not built yet; in the repository: npm run build');
  process.exitCode = 2;
}
