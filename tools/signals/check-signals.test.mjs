import { expect, test } from 'vitest';
import { problemsOf, publicAsync } from './check-signals.mjs';
import { Declarations } from './declarations.mjs';

/** @param {string} text */
const found = (text) => Object.fromEntries(publicAsync([new Declarations(text, '/none/index.d.ts')]));

test('publicAsync finds exported functions, and whether they take a signal', () => {
  expect(
    found(`
      /** A comment with export declare function commented(): Promise<void>; */
      interface Waiting { readonly signal?: AbortSignal | undefined; }
      interface Own extends Other, Waiting {}
      type Both = { a: number } & Waiting;
      export declare function now(): number;
      export declare function without(place: string, { wait }: { wait?: number }): Promise<{ a: 1 } | undefined>;
      export declare function direct(signal?: AbortSignal): Promise<void>;
      export declare function inside(x: { readonly signal?: AbortSignalLike; }): AsyncGenerator<number>;
      export declare function inherited<T extends { a: 1 }>(key: T, options?: Own): Promise<T>;
      export declare function alias(options: Partial<Both>): AsyncIterable<string>;
      declare function hidden(): Promise<void>;
    `),
  ).toEqual({ without: false, direct: true, inside: true, inherited: true, alias: true });
});

test('publicAsync finds methods of classes and interfaces, and leaves out private ones', () => {
  expect(
    found(`
      export declare class Store<T extends { a: 1 }> implements Other<{ b: 2 }> {
          #private;
          readonly done: Promise<void>;
          callback?: () => Promise<void>;
          private constructor();
          private secret(): Promise<void>;
          static open(options: { signal?: AbortSignal }): Promise<Store>;
          find(key: string): readonly string[] | Promise<readonly string[]>;
          get size(): number;
          close(): Promise<void>;
      }
      export interface Reader { next(): Promise<string | null>; close(): void }
    `),
  ).toEqual({ 'Store.open': true, 'Store.find': false, 'Store.close': false, 'Reader.next': false });
});

test('publicAsync follows results to types that are not exported', () => {
  expect(
    found(`
      interface Node { stop(): Promise<void>; parts(): Part[]; }
      interface Part { wait(signal: AbortSignal): Promise<void>; }
      interface Unused { stop(): Promise<void>; }
      export declare function start(): Node;
    `),
  ).toEqual({ 'Node.stop': false, 'Part.wait': true });
});

test('publicAsync calls overloads good only if all of them are', () => {
  expect(
    found(`
      export declare class Two {
          read(signal: AbortSignal): Promise<void>;
          read(path: string): Promise<void>;
          write(path: string): Promise<void>;
          write(signal: AbortSignal): Promise<void>;
      }
    `),
  ).toEqual({ 'Two.read': false, 'Two.write': false });
});

test('problemsOf names functions without a signal, and exceptions that are not needed', () => {
  const functions = new Map([
    ['a', true],
    ['b', false],
    ['c', false],
  ]);
  expect(problemsOf(functions, { c: 'why', a: 'has one now', d: 'is gone' })).toEqual([
    'b is public and asynchronous, but takes no signal',
    'a is an exception that is not needed any more',
    'd is an exception that is not needed any more',
  ]);
});
