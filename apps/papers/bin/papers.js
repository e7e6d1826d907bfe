#!/usr/bin/env node
// The papers as a program of their own: `node apps/papers/bin/papers.js --help`. It runs the build
// of src/main.ts.

import { existsSync } from 'node:fs';

const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  await main(process.argv.slice(2));
} else {
  console.error('papers: not built yet; in the repository: npm run build');
  process.exitCode = 2;
}
