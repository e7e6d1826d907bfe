import { expect, test } from 'vitest';
import { parseSource } from '../source/parse-source.mjs';
import { errorGrammar } from './error-grammar.mjs';
import { refusalsOf } from './planted-source.mjs';

const PATH = 'packages/cache/src/a.ts';

/** @param {string} text @param {{ name: string }[]} ownGrammar */
function refusals(text, ownGrammar = [], path = PATH) {
  return refusalsOf(errorGrammar([parseSource(path, text)], ownGrammar), text, path);
}

test('a message begins with "Cannot", says why, and has no full stop', () => {
  for (const message of [
    "'Cannot read: expected bytes, got text'",
    '`Cannot read ${path}: expected ${n} bytes, got ${m}`',
    "'Cannot read: ' + why",
    '`Cannot read: ${why}`',
  ])
    expect(refusals(`throw new TypeError(${message});`)).toEqual([]);
  for (const [message, got] of [
    ["'Expected bytes'", 'Expected bytes'],
    ['`${path} is empty`', '… is empty'],
    ["'Cannot read the file'", 'Cannot read the file'],
    ["'Cannot read: it is empty.'", 'Cannot read: it is empty.'],
    ["'it is ' + what", 'it is …'],
  ])
    expect(refusals(`\nthrow new RangeError(${message});`)).toEqual([
      `2: Cannot accept a message: expected "Cannot <do what>: <reason>" without a full stop, got "${got}"`,
    ]);
});

test('a code before the message is no message, and a computed message passes', () => {
  expect(refusals("new BodyError('gone', 'Cannot read: it is gone');")).toEqual([]);
  expect(refusals("new BodyError('gone', 'It is gone');")).toHaveLength(1);
  expect(refusals("new BodyError('gone', reason); new Error(error.message);")).toEqual([]);
});

test('a class that writes "Cannot" itself is given the rest by its callers', () => {
  const begins = 'class FrameError extends Error { constructor(why) { super(`Cannot decode: ${why}`); } }\n';
  expect(refusals(`${begins}throw new FrameError('it is empty');`)).toEqual([]);
  const passes = 'class FrameError extends Error { constructor(why) { super(`It is so: ${why}`); } }';
  expect(refusals(passes)).toHaveLength(1);
});

test('classes with a grammar of their own, tests and programs of tools pass', () => {
  const text = "throw new UsageError('no file was named');";
  expect(refusals(text, [{ name: 'UsageError' }])).toEqual([]);
  for (const path of ['packages/cache/src/a.test.ts', 'tools/a.mjs', 'packages/testkit/src/a.ts'])
    expect(refusals(text, [], path)).toEqual([]);
});
