import { expect, test } from 'vitest';
import { lineBatches, numberBatches } from './split-parts.ts';

/** The bytes of a text in parts of `size`. */
function partsOf(text: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(text, 'latin1');
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
}

async function all(batches: AsyncIterable<string[]>): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of batches) found.push(...batch);
  return found;
}

test.each([1, 2, 3, 7, 1000])('lineBatches gives the same lines from parts of %i bytes', async (size) => {
  expect(await all(lineBatches(partsOf('one\r\ntwo\n\nth\u00e9\nlast', size), 'x'))).toEqual([
    'one',
    'two',
    '',
    'th\u00e9',
    'last',
  ]);
});

test('lineBatches gives no line for an empty file, and none after the last line end', async () => {
  expect(await all(lineBatches([], 'x'))).toEqual([]);
  expect(await all(lineBatches(partsOf('one\n', 10), 'x'))).toEqual(['one']);
});

test('lineBatches cuts a line that never ends, so that memory is bounded', async () => {
  const lines = await all(lineBatches(partsOf('a'.repeat(3 << 20), 1 << 18), 'x'));
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.join('')).toHaveLength(3 << 20);
});

test('lineBatches refuses a binary file, and names it', async () => {
  await expect(all(lineBatches(partsOf('ab\0c', 10), 'x.bin'))).rejects.toMatchObject({
    name: 'TraceError',
    code: 'format',
    message: 'Cannot read a trace: expected lines of text, got a zero byte (x.bin, byte 2)',
  });
});

test.each([1, 3, 4, 5, 1000])('numberBatches gives the same names from parts of %i bytes', async (size) => {
  const text = '\0\0\0\u0001\0\0\0\u0002\0\0\0\u0001rest';
  expect(await all(numberBatches(partsOf(`${text}x`, size), 4))).toEqual([
    '\0\0\0\u0001',
    '\0\0\0\u0002',
    '\0\0\0\u0001',
    'rest',
  ]);
});
