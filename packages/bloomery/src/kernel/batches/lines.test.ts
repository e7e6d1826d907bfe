import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { countLines, lineEnds } from './lines.ts';

/** Bytes with many newlines, and many that differ from one in a single bit. */
function randomBytes(random: Random, length: number, offset: number): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(length + offset), offset, length);
  for (let i = 0; i < length; i++) bytes[i] = random.pick([10, 10, 11, 138, 8, 26, 0, 255, 9, 127]);
  return bytes;
}

function endsOf(bytes: Uint8Array): number[] {
  const ends: number[] = [];
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10) ends.push(i + 1);
  if (bytes.length > 0 && bytes[bytes.length - 1] !== 10) ends.push(bytes.length);
  return ends;
}

inBothKernels('lines', () => {
  test('are counted and found, however long, wherever the bytes begin, with and without a last newline', () => {
    const random = new Random(1);
    for (let round = 0; round < 300; round++) {
      const bytes = randomBytes(random, random.below(200), random.below(4));
      const ends = endsOf(bytes);
      expect(countLines(bytes)).toBe(ends.length);
      expect([...lineEnds(bytes)]).toEqual(ends);
    }
  });

  test('beyond a window of the kernel, with newlines everywhere or nowhere', () => {
    const random = new Random(2);
    for (const length of [131_071, 131_072, 131_073, 400_001]) {
      const bytes = randomBytes(random, length, 1);
      const ends = endsOf(bytes);
      expect(countLines(bytes)).toBe(ends.length);
      const found = lineEnds(bytes);
      expect(found.length === ends.length && ends.every((end, i) => found[i] === end)).toBe(true);
    }
    expect(countLines(new Uint8Array(300_000).fill(10))).toBe(300_000);
    expect([...lineEnds(new Uint8Array(300_000).fill(65))]).toEqual([300_000]);
  });

  test('nothing has no lines; anything but bytes is refused', () => {
    expect(countLines(new Uint8Array(0))).toBe(0);
    expect(lineEnds(new Uint8Array(0)).length).toBe(0);
    expect(() => countLines('a\n' as never)).toThrow('Cannot read keys: expected a Uint8Array of lines');
  });
});
