import { expect, test } from 'vitest';
import { blanked, importsOf } from './imports.mjs';

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
  expect(importsOf(text)).toEqual(
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
  expect(importsOf(text).map(({ specifier, kind }) => `${kind} ${specifier}`)).toEqual(
    ['a', 'b', 'd', 'e', 'f'].map((name) => `type ./${name}.ts`),
  );
});

test('importsOf finds import() and the URLs of worker files', () => {
  expect(importsOf(`const a = await import('./a.ts');`)).toEqual([{ specifier: './a.ts', kind: 'dynamic' }]);
  expect(importsOf(`new Worker(new URL('./w.ts', import.meta.url))`)).toEqual([
    { specifier: './w.ts', kind: 'url' },
  ]);
  expect(importsOf(`new URL('/path', base)`)).toEqual([]);
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
  expect(importsOf(text)).toEqual([{ specifier: './last.ts', kind: 'value' }]);
});

test('blanked keeps the lines where they were', () => {
  expect(blanked("a; // b\n/* c\n */ 'd'")).toBe("a;     \n    \n    'd'");
});

test('importsOf takes no declaration for an import', () => {
  const text = `export const from = 'somewhere';\nexport function f() { return 'x'; }\nArray.from('abc');`;
  expect(importsOf(text)).toEqual([]);
});
