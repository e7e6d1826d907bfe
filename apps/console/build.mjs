// Builds the page into dist/: classic scripts, because module scripts do not load from file:, one
// for the frame and one for each view. Views use the frame's copy of Preact. Everything that the
// page needs lies in that folder: it opens by double click, and a node serves the same files.

import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('.', import.meta.url));
const dist = join(root, 'dist');

/** docs/spec/console.md. The node sends it as a field as well, with `frame-ancestors`. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self' blob:",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types bloomery-console',
].join('; ');

const VIEWS = {
  plan: 'src/plan/plan-view.tsx',
  papers: 'src/papers/papers-view.tsx',
  inside: 'src/inside/inside-view.tsx',
  node: 'src/node/node-views.ts',
};

const common = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  format: /** @type {const} */ ('iife'),
  platform: /** @type {const} */ ('browser'),
  target: ['chrome109', 'firefox115', 'safari16.4'],
  jsx: /** @type {const} */ ('automatic'),
  jsxImportSource: 'preact',
  minify: true,
  // The policy forbids WebAssembly, so the page carries the JavaScript kernel alone.
  define: { __BLOOMERY_WASM__: 'false', 'process.env.NODE_ENV': '"production"' },
  logLevel: /** @type {const} */ ('warning'),
};

/** Modules that the frame has already (src/shell/main.tsx). */
const SHARED = ['preact', 'preact/hooks', 'preact/jsx-runtime', '@preact/signals'];

/** @type {import('esbuild').Plugin} */
const sharedModules = {
  name: 'shared-modules',
  setup({ onResolve, onLoad }) {
    const names = new RegExp(`^(?:${SHARED.join('|')})$`);
    onResolve({ filter: names }, ({ path }) => ({ path, namespace: 'shared' }));
    onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => ({
      contents: `module.exports = globalThis.bloomeryConsole.modules[${JSON.stringify(path)}];`,
    }));
  },
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({ ...common, entryPoints: { console: 'src/shell/main.tsx' } });
await build({ ...common, entryPoints: VIEWS, plugins: [sharedModules] });
await build({ ...common, entryPoints: { console: 'src/style/console.css' } });
// The program of the worker is a function, whose text the page makes a worker of: Chromium starts
// none from a file: address.
await build({
  ...common,
  entryPoints: { engine: 'src/engine/engine.ts' },
  globalName: 'engine',
  banner: { js: "globalThis.bloomeryConsole.parts.set('engine', function () {" },
  footer: { js: 'return engine; });' },
});
const page = readFileSync(join(root, 'src/index.html'), 'utf8').replace('{{policy}}', POLICY);
writeFileSync(join(dist, 'index.html'), page);
copyFileSync(join(root, 'src/icon.svg'), join(dist, 'icon.svg'));

// The papers: text as a script, because a page from file: cannot fetch, and figures as files.
const papers = join(root, '../../docs/papers');
const texts = {
  tables: readFileSync(join(papers, 'papers.md'), 'utf8'),
  errata: readFileSync(join(papers, 'errata.md'), 'utf8'),
};
writeFileSync(
  join(dist, 'paperstext.js'),
  `globalThis.bloomeryConsole.parts.set('papers', ${JSON.stringify(texts)});\n`,
);
cpSync(join(papers, 'figures'), join(dist, 'figures'), { recursive: true });
