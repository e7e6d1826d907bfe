#!/usr/bin/env node
// The command. What it does is in src; this file is what npm links to, so that the link is there before the build is.

import { existsSync } from 'node:fs';

const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  await main(process.argv.slice(2));
  // After an error nothing is waited for: not a pipe that was not read to its end, not a thread.
  if (process.exitCode) process.exit();
} else {
  console.error('bloomery: not built yet; in the repository: npm run build');
  process.exitCode = 2;
}
