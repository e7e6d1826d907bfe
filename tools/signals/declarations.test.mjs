import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Declarations, methodsOf, signatureOf } from './declarations.mjs';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-declarations-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('Declarations follows imports and exports to other files', () => {
  mkdirSync(join(folder, 'inner'));
  writeFileSync(
    join(folder, 'index.d.ts'),
    `export { first as renamed, type Options } from './inner/one.ts';
     export * from './inner/two.js';
     export type { Options as Others } from './inner/one.ts';`,
  );
  writeFileSync(
    join(folder, 'inner', 'one.d.ts'),
    `import { type Base } from './two.ts';
     export interface Options extends Base {}
     export declare function first(): void;
     export declare function hidden(): void;`,
  );
  writeFileSync(
    join(folder, 'inner', 'two.d.ts'),
    'export interface Base { a: 1 }\nexport declare class Second {}',
  );
  const index = Declarations.of(join(folder, 'index.d.ts'));
  expect(index.exported().map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'function first',
    'interface Options',
    'interface Options',
    'interface Base',
    'class Second',
  ]);
  const options = index.find('Options');
  expect(options?.file.find('Base')?.text).toBe('export interface Base { a: 1 }');
  expect(index.find('Promise')).toBe(undefined);
});

test('methodsOf gives each method with its text', () => {
  const text = 'class A { readonly x: (a: number) => void; one(): void; two?<T>(a: { b: 1; }): T; }';
  expect(methodsOf({ text })).toEqual([
    { name: 'one', text: 'one(): void' },
    { name: 'two', text: 'two?<T>(a: { b: 1; }): T' },
  ]);
});

test('signatureOf divides parameters and result', () => {
  expect(
    signatureOf('f<T extends (a: 1) => void>(a: () => T, { b }: { b: T }): Promise<(c: 1) => T>'),
  ).toEqual({
    parameters: 'a: () => T, { b }: { b: T }',
    result: 'Promise<(c: 1) => T>',
  });
});
