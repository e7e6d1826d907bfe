// Writes the table of limits in docs/guide/cache.md from packages/cache/src/safety/limits.ts, whose
// head promises that the table is the only source. Without arguments it compares the page with it;
// `--write` writes the page. It reads the built package.

import { fileURLToPath } from 'node:url';
import { formatDuration, formatSize } from '../packages/cache/dist/node/config/amounts.js';
import { LIMITS } from '../packages/cache/dist/safety/limits.js';
import { keepPart } from './written-part.mjs';

const FORMATS = { bytes: formatSize, ms: formatDuration, count: String };

const rows = Object.entries(LIMITS).map(
  ([name, limit]) => `| \`${name}\` | ${FORMATS[limit.unit](limit.default)} | ${limit.why} |`,
);
const kept = keepPart({
  page: fileURLToPath(new URL('../docs/guide/cache.md', import.meta.url)),
  begin: '<!-- limits: written by tools/limits-table.mjs -->',
  end: '<!-- end of limits -->',
  text: ['| limit | default | why |', '|---|---|---|', ...rows].join('\n'),
  tool: 'tools/limits-table.mjs',
});
if (kept) console.log(`limits: ${rows.length} limits stand in docs/guide/cache.md as in the code`);
else process.exitCode = 1;
