// Checks that docs/errors.md lists every error class with a `code`, and each of its codes, and
// nothing else. A class has a section whose heading is its name; a code begins a row of the table
// there. `node tools/check-errors.mjs FOLDER` checks another tree.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCodes } from './source/error-codes.mjs';
import { parseSource } from './source/parse-source.mjs';
import { isCode, repositoryFiles } from './source/repository-files.mjs';

const PAGE = 'docs/errors.md';
const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));

const inSource = new Set(
  repositoryFiles(root)
    .filter((path) => /^(?:packages|apps)\/[^/]+\/src\//.test(path) && isCode(path) && !/\.test\./.test(path))
    .flatMap((path) => errorCodes(parseSource(path, readFileSync(join(root, path), 'utf8'))))
    .flatMap(({ name, codes }) => codes.map((code) => `${name} ${code}`)),
);
const onPage = new Set(
  readFileSync(join(root, PAGE), 'utf8')
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const name = /^\w+/.exec(section)?.[0];
      return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, code]) => `${name} ${code}`);
    }),
);
const problems = [
  ...[...inSource]
    .filter((one) => !onPage.has(one))
    .map((one) => `Cannot find a code: expected a row for ${one}, got none (${PAGE})`),
  ...[...onPage]
    .filter((one) => !inSource.has(one))
    .map((one) => `Cannot find a code: expected ${one} in the source, got none (${PAGE})`),
];
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`errors: ${inSource.size} codes stand in ${PAGE} as in the source`);
