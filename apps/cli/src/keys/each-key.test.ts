import { hashKeys, type KeyBatch, packKeys } from 'bloomery';
import { expect, test } from 'vitest';
import { eachKey } from './each-key.ts';

const texts = (keys: KeyBatch) => Array.from(eachKey(keys), (key) => Buffer.from(key).toString());

test('eachKey yields lines, empty ones and one without a newline as well', () => {
  expect(texts({ lines: Buffer.from('a\n\nbc') })).toEqual(['a', '', 'bc']);
});

test('eachKey yields packed keys, empty ones as well', () => {
  expect(texts(packKeys(['a', '', 'b\nc']))).toEqual(['a', '', 'b\nc']);
});

test('eachKey refuses a batch that has no bytes', () => {
  expect(() => texts(hashKeys(['a']))).toThrow(/^Cannot visit the keys of a batch: expected lines or packed/);
});
