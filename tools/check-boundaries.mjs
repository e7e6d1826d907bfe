// Arrows point down only. npm hoists, so an import of an undeclared package would work by accident; and the
// layers of the library are folders, so an import against their order would work too. This reads the imports
// and says no.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const LAYERS = ['keys', 'hashing', 'kernel', 'math', 'frames', 'filters', 'wire', 'formats'];
// A package may import those of lower rank only.
const RANKS = {
  bloomery: 0,
  testkit: 0,
  files: 1,
  sim: 1,
  cache: 2,
  overlay: 2,
  packets: 2,
  stores: 2,
  papers: 3,
  console: 3,
  cli: 4,
};
/** What tests may import beside Node: the development dependencies of the workspace. */
const TEST_TOOLS = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies);
const problems = [];
let count = 0;

for (const shelf of ['packages', 'apps']) {
  for (const name of readdirSync(join(root, shelf))) checkPackage(shelf, name);
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`boundaries: ${count} files keep to their layers`);

function checkPackage(shelf, name) {
  const folder = join(root, shelf, name);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const declared = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  if (RANKS[name] === undefined)
    problems.push(`${shelf}/${name}: give it a rank in tools/check-boundaries.mjs`);
  if (name === 'bloomery' && declared.size > 0) problems.push('the library has no dependencies');
  for (const path of sources(join(folder, 'src'))) {
    count++;
    const text = readFileSync(path, 'utf8');
    const isTest = name === 'testkit' || /\.test\.ts$/.test(path);
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) {
        if (name === 'bloomery') checkLayer(folder, path, specifier, isTest);
        continue;
      }
      if (isTest && (/^(node:|@bloomery\/testkit\/)/.test(specifier) || TEST_TOOLS.includes(specifier)))
        continue;
      const target = specifier.startsWith('@')
        ? specifier.split('/').slice(0, 2).join('/')
        : specifier.split('/')[0];
      if (specifier.startsWith('node:') ? name === 'bloomery' : !declared.has(target)) {
        report(path, `imports ${specifier}, which is not declared for ${shelf}/${name}`);
      } else if (RANKS[target.replace('@bloomery/', '')] >= RANKS[name]) {
        report(path, `imports ${target}, which does not stand below ${name}`);
      }
    }
    // Time and chance are passed in.
    if (name === 'bloomery' && !isTest) {
      for (const forbidden of ['Math.random', 'Date.now', 'new Date', 'performance.now', 'crypto.']) {
        if (withoutComments(text).includes(forbidden)) report(path, `uses ${forbidden}`);
      }
    }
  }
}

function checkLayer(folder, path, specifier, isTest) {
  const layer = (file) => LAYERS.indexOf(relative(join(folder, 'src'), file).split(/[\\/]/)[0]);
  const from = layer(path);
  const to = layer(resolve(dirname(path), specifier));
  if (!isTest && from >= 0 && to > from)
    report(path, `(${LAYERS[from]}) imports from ${LAYERS[to]}: ${specifier}`);
}

function sources(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

// Statements, and calls of import(): the word `from` alone also ends names and sentences.
function importsOf(text) {
  const code = withoutComments(text);
  const statements = code.matchAll(/^\s*(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]/gm);
  const calls = code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g);
  return [...statements, ...calls].map((match) => match[1]);
}

function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function report(path, message) {
  problems.push(`${relative(root, path)} ${message}`);
}
