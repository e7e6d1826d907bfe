// Measures what an import costs in a web page. Each entry below is bundled by esbuild, minified,
// compressed with gzip -9 and compared with its budget. The table in README.md is checked as well;
// `--write` updates it.

import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { keepPart } from './written-part.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const JS_ONLY = { __BLOOMERY_WASM__: 'false' };

/**
 * @typedef {{ label: string, code: string, define?: Record<string, string>, external?: string[],
 *   budget: number }} Entry
 */
/** @typedef {{ label: string, budget: number, raw: number, gzip: number }} Row */

// Budgets in bytes of gzip. The first line is a promise of the project (8 kB, 8.1 at most since a
// filter prints itself and refuses to be cloned, which took 61 bytes); the others keep the
// bundles from growing unnoticed.
/** @type {Entry[]} */
const ENTRIES = [
  {
    label: "`{ BloomFilter } from 'bloomery'`, JavaScript kernel",
    code: "export { BloomFilter } from 'bloomery'",
    define: JS_ONLY,
    budget: 8150,
  },
  {
    label: "`{ BloomFilter } from 'bloomery'`",
    code: "export { BloomFilter } from 'bloomery'",
    budget: 14900,
  },
  {
    label: "`{ BlockedBloomFilter } from 'bloomery'`, JavaScript kernel",
    code: "export { BlockedBloomFilter } from 'bloomery'",
    define: JS_ONLY,
    budget: 9500,
  },
  {
    label: "`{ BlockedBloomFilter } from 'bloomery'`",
    code: "export { BlockedBloomFilter } from 'bloomery'",
    budget: 16200,
  },
  {
    label: "`{ CountingBloomFilter } from 'bloomery'`, JavaScript kernel",
    code: "export { CountingBloomFilter } from 'bloomery'",
    define: JS_ONLY,
    budget: 11000,
  },
  {
    label: "`{ CountingBloomFilter } from 'bloomery'`",
    code: "export { CountingBloomFilter } from 'bloomery'",
    budget: 18550,
  },
  {
    label: "`{ StaticFilter } from 'bloomery'`",
    code: "export { StaticFilter } from 'bloomery'",
    budget: 18900,
  },
  {
    label: "`{ CountMinSketch } from 'bloomery'`",
    code: "export { CountMinSketch } from 'bloomery'",
    budget: 19000,
  },
  {
    label: "`{ FilterTable } from 'bloomery'`",
    code: "export { FilterTable } from 'bloomery'",
    budget: 19400,
  },
  { label: 'all of `bloomery`', code: "export * from 'bloomery'", budget: 66200 },
  {
    label: "`{ checkFrame, frameChunks } from 'bloomery/frames'`",
    code: "export { checkFrame, frameChunks } from 'bloomery/frames'",
    budget: 14000,
  },
  { label: 'all of `bloomery/frames`', code: "export * from 'bloomery/frames'", budget: 60000 },
  {
    label: "`{ compressFrame, expandFrame } from 'bloomery/wire'`",
    code: "export { compressFrame, expandFrame } from 'bloomery/wire'",
    budget: 24200,
  },
  {
    label: "`{ SetSubscriber } from 'bloomery/wire'`, JavaScript kernel",
    code: "export { SetSubscriber } from 'bloomery/wire'",
    define: JS_ONLY,
    budget: 9000,
  },
  { label: 'all of `bloomery/wire`', code: "export * from 'bloomery/wire'", budget: 50800 },
  {
    label: "`{ verifySignature, verifyFrame } from 'bloomery/signing'`, JavaScript kernel",
    code: "export { verifySignature, verifyFrame } from 'bloomery/signing'",
    define: JS_ONLY,
    budget: 13500,
  },
  { label: 'all of `bloomery/signing`', code: "export * from 'bloomery/signing'", budget: 27600 },
  {
    label: '`bloomery/formats/guava`',
    code: "export * from 'bloomery/formats/guava'",
    budget: 5500,
  },
  {
    label: '`bloomery/formats/redisbloom`',
    code: "export * from 'bloomery/formats/redisbloom'",
    budget: 7000,
  },
  {
    label: "`{ Reconciler } from '@bloomery/reconcile'`, without `bloomery`",
    code: "export { Reconciler } from '@bloomery/reconcile'",
    external: ['bloomery', 'bloomery/*'],
    budget: 10_000,
  },
  { label: 'all of `@bloomery/reconcile`', code: "export * from '@bloomery/reconcile'", budget: 24_500 },
  { label: 'all of `bloomery/math`', code: "export * from 'bloomery/math'", budget: 13100 },
];

const rows = await Promise.all(ENTRIES.map(measure));
for (const { label, gzip, budget } of rows) {
  console.log(
    `${gzip > budget ? 'OVER ' : ''}${label.replaceAll('`', '')}: ${gzip} bytes gzip, budget ${budget}`,
  );
}
const over = rows.some(({ gzip, budget }) => gzip > budget);
const kept = keepPart({
  page: `${root}README.md`,
  begin: '<!-- bundle sizes: written by tools/check-bundles.mjs -->',
  end: '<!-- end of bundle sizes -->',
  text: table(rows),
  tool: 'tools/check-bundles.mjs',
});
if (over || !kept) process.exitCode = 1;

/**
 * @param {Entry} entry
 * @returns {Promise<Row>}
 */
async function measure({ label, code, define = {}, external = [], budget }) {
  const result = await build({
    stdin: { contents: code, resolveDir: root },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    define,
    external,
    write: false,
  });
  const bytes = result.outputFiles[0].contents;
  return { label, budget, raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
}

/**
 * The table, with one decimal, because zlib versions differ by some bytes, and it should not change
 * with them.
 * @param {Row[]} rows
 */
function table(rows) {
  const kB = (/** @type {number} */ bytes) => (bytes / 1000).toFixed(1);
  const lines = rows.map(({ label, raw, gzip }) => `| ${label} | ${kB(raw)} kB | ${kB(gzip)} kB |`);
  return ['| import | minified | gzip |', '|---|---|---|', ...lines].join('\n');
}
