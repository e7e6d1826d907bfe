import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, expect, test } from 'vitest';
import { BufferPool } from './buffer-pool.ts';
import { lineRanges, RANGE, RangeReader } from './line-ranges.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-ranges-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'lines');

test('ranges of any size give every line once, whole, in order', () => {
  const random = new Random(1);
  for (let round = 0; round < 300; round++) {
    const lines = Array.from({ length: random.below(30) }, () =>
      'x'.repeat(random.below(random.pick([2, 5, 40]))),
    );
    const text = Buffer.from(lines.join('\n') + (random.below(2) === 0 ? '\n' : ''));
    writeFileSync(path, text);
    const reader = new RangeReader();
    const buffers = new BufferPool(64);
    const step = 1 + random.below(20);
    let read = '';
    for (let from = 0; from < text.length; from += step) {
      const range = { path, size: text.length, from, to: Math.min(text.length, from + step) };
      const part = Buffer.from(reader.read(range, buffers)).toString();
      if (part !== '' && range.to < text.length)
        expect(part.endsWith('\n') || read.length + part.length === text.length).toBe(true);
      read += part;
    }
    reader.close();
    expect(read).toBe(text.toString());
  }
});

test('lines longer than a range, and than what is read beyond it', () => {
  const text = Buffer.from(`a\n${'b'.repeat(3 * RANGE)}\nc\n${'d'.repeat(40_000)}`);
  writeFileSync(path, text);
  const reader = new RangeReader();
  const buffers = new BufferPool(1 << 20);
  const parts = Array.from(lineRanges(path, text.length), (range) =>
    Buffer.from(reader.read(range, buffers)),
  );
  reader.close();
  expect(parts.length).toBe(4);
  expect(Buffer.concat(parts).equals(text)).toBe(true);
});
