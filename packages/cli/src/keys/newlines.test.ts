import { expect, test } from 'vitest';
import { Random } from '../../../bloomery/test/statistics.ts';
import { countByte, countNewlines, lineEnds } from './newlines.ts';

/** Bytes with many newlines, and many that differ from one in a single bit. */
function randomBytes(random: Random, length: number, offset: number): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(length + offset), offset, length);
  for (let i = 0; i < length; i++) bytes[i] = random.pick([10, 10, 11, 138, 8, 26, 0, 255, 9, 127]);
  return bytes;
}

test('newlines are counted, wherever the bytes begin and however many there are', () => {
  const random = new Random(1);
  for (let round = 0; round < 400; round++) {
    const bytes = randomBytes(random, random.below(round % 20 === 0 ? 5000 : 40), random.below(4));
    expect(countNewlines(bytes)).toBe([...bytes].filter((byte) => byte === 10).length);
    expect(countByte(bytes, 0)).toBe([...bytes].filter((byte) => byte === 0).length);
  }
  expect(countNewlines(new Uint8Array(3000).fill(10))).toBe(3000);
});

test('the ends of all lines, with and without a last newline', () => {
  const random = new Random(2);
  for (let round = 0; round < 400; round++) {
    const bytes = randomBytes(random, random.below(200), random.below(4));
    const ends = [...bytes.keys()].filter((i) => bytes[i] === 10).map((i) => i + 1);
    if (bytes.length > 0 && bytes[bytes.length - 1] !== 10) ends.push(bytes.length);
    expect([...lineEnds(bytes, ends.length)]).toEqual(ends);
  }
  const text = Buffer.from(`${'a'.repeat(1001)}\n${'b'.repeat(7)}\nccc`);
  expect([...lineEnds(text, 3)]).toEqual([1002, 1010, 1013]);
});
