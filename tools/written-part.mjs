// The part of a page that a tool writes, between two comments. Each such tool compares the page
// with what it would write, and fails if they differ; `--write` writes it.

import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Compares `text` with the part of `page` between `begin` and `end`. With `write`, it writes the
 * page and returns true. Otherwise it returns whether they are the same, and prints how to update
 * the page if they are not. Throws if the page has no such part.
 * @param {object} part
 * @param {string} part.page
 * @param {string} part.begin
 * @param {string} part.end
 * @param {string} part.text
 * @param {string} part.tool
 * @param {boolean} [part.write]
 */
export function keepPart({ page, begin, end, text, tool, write = process.argv.includes('--write') }) {
  const name = relative(root, page);
  const old = readFileSync(page, 'utf8');
  const start = old.indexOf(begin);
  const stop = old.indexOf(end);
  if (start < 0 || stop < start)
    throw new Error(
      `Cannot find the part that ${tool} writes: expected ${begin} … ${end}, got none (${name})`,
    );
  const wanted = `${old.slice(0, start + begin.length)}\n${text}\n${old.slice(stop)}`;
  if (wanted === old) return true;
  if (write) writeFileSync(page, wanted);
  else console.error(`${name} does not have this part: node ${tool} --write\n${text}`);
  return write;
}
