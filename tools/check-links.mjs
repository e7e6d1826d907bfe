// Checks that every relative link in a Markdown page, and every path of this repository that a page
// names, exists, and that every table is whole. Files move, and no compiler checks the pages that
// name them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkReferences } from './links/check-references.mjs';
import { checkTables } from './links/check-tables.mjs';
import { repositoryFiles } from './source/repository-files.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/**
 * Paths that pages name although they are gone: the changelog says what moved.
 * @type {string[]}
 */
const FORMER_PATHS = [];

const files = repositoryFiles(root);
const pages = new Map(
  files.filter((path) => path.endsWith('.md')).map((path) => [path, readFileSync(join(root, path), 'utf8')]),
);
const problems = [...checkReferences({ pages, files }, FORMER_PATHS), ...checkTables(pages)];
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`links: those of ${pages.size} pages resolve, and their tables are whole`);
