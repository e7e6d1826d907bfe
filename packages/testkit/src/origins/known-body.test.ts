import { expect, test } from 'vitest';
import { firstWrongByte, knownBody, knownPath, knownSize } from './known-body.ts';

test('knownBody follows from the path alone, with the size that the path says', () => {
  const path = knownPath('layer', 10_001);
  expect(path).toBe('/layer-10001');
  expect(knownSize(path)).toBe(10_001);
  expect(knownBody(path)).toHaveLength(10_001);
  expect(knownBody(knownPath('layer', 10_002)).subarray(0, 10_001).equals(knownBody(path))).toBe(false);
  expect(knownBody(knownPath('empty', 0))).toHaveLength(0);
});

test('knownBody refuses a path without a size', () => {
  expect(knownSize('/index.html')).toBeNull();
  expect(() => knownBody('/index.html')).toThrow('expected a path that ends in -<bytes>, got /index.html');
});

test('firstWrongByte finds a flipped bit, a shifted piece and bytes after the end', () => {
  const path = knownPath('object', 5000);
  const body = Buffer.from(knownBody(path));
  expect(firstWrongByte(path, 1234, body.subarray(1234, 4000))).toBeNull();
  body[2000] = body[2000]! ^ 4;
  expect(firstWrongByte(path, 1234, body.subarray(1234, 4000))).toBe(2000);
  expect(firstWrongByte(path, 1235, body.subarray(1234, 1900))).not.toBeNull();
  expect(firstWrongByte(path, 4999, Buffer.concat([body.subarray(4999), Buffer.from('x')]))).toBe(5000);
});
