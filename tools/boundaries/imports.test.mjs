import { expect, test } from 'vitest';
import { parseSource } from '../source/parse-source.mjs';
import { importsOf } from './imports.mjs';

/** @param {string} text */
function found(text) {
  return importsOf(parseSource('a.ts', text)).map(({ specifier, kind }) => ({ specifier, kind }));
}

test('importsOf finds statements of every form', () => {
  const text = `
import './effect.ts';
import a from './a.ts';
import * as b from './b.ts';
import {
  c,
  type C,
} from './c.ts';
export * from './d.ts';
export { e } from "./e.ts";
`;
  expect(found(text)).toEqual(
    ['effect', 'a', 'b', 'c', 'd', 'e'].map((name) => ({ specifier: `./${name}.ts`, kind: 'value' })),
  );
});

test('importsOf knows the imports of which nothing is left at run time', () => {
  const text = `
import type { A } from './a.ts';
import { type B, type C } from './b.ts';
export type { D } from './d.ts';
let e: import('./e.ts').E;
type F = typeof import('./f.ts');
`;
  expect(found(text).map(({ specifier, kind }) => `${kind} ${specifier}`)).toEqual(
    ['a', 'b', 'd', 'e', 'f'].map((name) => `type ./${name}.ts`),
  );
});

test('importsOf finds import() and the URLs of worker files', () => {
  expect(found(`const a = await import('./a.ts');`)).toEqual([{ specifier: './a.ts', kind: 'dynamic' }]);
  expect(found(`new Worker(new URL('./w.ts', import.meta.url))`)).toEqual([
    { specifier: './w.ts', kind: 'url' },
  ]);
  expect(found(`new URL('/path', base)`)).toEqual([]);
});

test('importsOf leaves out comments, templates and regular expressions', () => {
  const text = [
    "// import './a.ts';",
    "/* import './b.ts';",
    "import './c.ts'; */",
    `const program = \`\nimport './d.ts';\n\${'\`'}import './e.ts';\`;`,
    'const quote = /[\'"`]/;',
    "const url = 'https://example.org/*';",
    `const half = total / 2; const other = \`\${half / 2}\`;`,
    "import './last.ts';",
  ].join('\n');
  expect(found(text)).toEqual([{ specifier: './last.ts', kind: 'value' }]);
});

test('importsOf tells the line of each import', () => {
  const text = "// first\nimport './a.ts';\n\nconst b = await import('./b.ts');";
  expect(importsOf(parseSource('a.ts', text)).map(({ line }) => line)).toEqual([2, 4]);
});

test('importsOf takes no declaration for an import', () => {
  const text = `export const from = 'somewhere';\nexport function f() { return 'x'; }\nArray.from('abc');`;
  expect(found(text)).toEqual([]);
});
