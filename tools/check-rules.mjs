// Checks the rules of STYLE.md that a program can check in the sources: the width and the words of
// comments, the grammar of error messages, `toBeCloseTo`, real time in tests and in simulations.
// The rules are in tools/rules, their exceptions in tools/rules/exceptions.mjs. `node
// tools/check-rules.mjs FOLDER` checks another tree, without exceptions.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyRules } from './rules/apply-rules.mjs';
import * as exceptions from './rules/exceptions.mjs';
import { parseSource } from './source/parse-source.mjs';
import { isCode, repositoryFiles } from './source/repository-files.mjs';

const NO_EXCEPTIONS = { OWN_GRAMMAR: [], EXCEPTIONS: [] };
const [, , folder] = process.argv;
const root = folder ?? fileURLToPath(new URL('..', import.meta.url));
const sources = repositoryFiles(root)
  .filter(isCode)
  .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
const problems = applyRules(sources, folder === undefined ? exceptions : NO_EXCEPTIONS);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`rules: ${sources.length} files keep to STYLE.md`);
