// Builds the extension into dist/extension, to be loaded as it is, and the script for a site's own
// pages into dist. The library is bundled unchanged: its choice between WebAssembly and JavaScript
// is made in the browser.

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { iconPng } from './icon.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));
const dist = join(root, 'dist');
const extension = join(dist, 'extension');

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: /** @type {const} */ ('browser'),
  target: ['chrome137'],
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: /** @type {const} */ ('warning'),
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(extension, { recursive: true });
cpSync(join(root, 'public'), extension, { recursive: true });
await build({
  ...common,
  outdir: extension,
  format: 'esm',
  entryPoints: ['worker', 'panel', 'options'].map((name) => `src/${name}.ts`),
});
await build({
  ...common,
  outdir: dist,
  format: 'iife',
  entryPoints: { 'annotations-site': 'src/site-script.ts' },
  target: ['chrome109', 'firefox115', 'safari16.4'],
});
for (const size of [48, 128]) writeFileSync(join(extension, `icon-${size}.png`), iconPng(size));
