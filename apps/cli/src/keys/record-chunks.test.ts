import { cpuMs } from '@bloomery/testkit/cpu-time';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { BufferPool } from './buffer-pool.ts';
import { eachKey } from './each-key.ts';
import { type ColumnNames, extractKeys } from './extract-keys.ts';
import type { Input } from './input.ts';
import type { KeyOptions } from './key-options.ts';
import { recordChunks } from './record-chunks.ts';

/** A pipe that hands over parts of these lengths, in turn. */
function pipeOf(text: string, lengths: () => number): Input {
  const bytes = new TextEncoder().encode(text);
  return {
    path: 'pipe',
    bytes: undefined,
    plainFile: false,
    async *parts() {
      for (let at = 0; at < bytes.length; ) {
        const part = bytes.slice(at, at + lengths());
        at += part.length;
        yield part;
      }
    },
  };
}

async function keysOf(text: string, options: KeyOptions, lengths: () => number): Promise<string[]> {
  const columns: ColumnNames = new Map();
  const keys: string[] = [];
  for await (const chunk of recordChunks(pipeOf(text, lengths), options, new BufferPool(0))) {
    for (const key of eachKey(extractKeys(chunk, options, columns).keys))
      keys.push(Buffer.from(key).toString());
  }
  return keys;
}

describe('however an input is cut into parts, its keys are the same', () => {
  test('CSV with quotes of every kind', async () => {
    const random = new Random(5);
    const pieces = ['a', 'bc', '""', ',', '\n', '\r\n', 'é', ' '];
    for (let round = 0; round < 300; round++) {
      const keys: string[][] = [[], []];
      let text = '';
      const rows = 1 + random.below(12);
      for (let row = 0; row < rows; row++) {
        const fields = [0, 1].map((column) => {
          const kind = random.below(3);
          const stray = ['5" x', 'x"', 'plain', 'a "b" c'][random.below(4)];
          if (kind === 0) {
            keys[column].push(stray);
            return stray;
          }
          const inside = Array.from(
            { length: random.below(5) },
            () => pieces[random.below(pieces.length)],
          ).join('');
          keys[column].push(inside.replaceAll('""', '"'));
          return `"${inside}"`;
        });
        text += fields.join(',') + (row + 1 === rows && random.below(2) === 0 ? '' : '\n');
      }
      for (const column of [1, 2]) {
        const longest = [1, 3, 20, 1000][round % 4];
        const found = await keysOf(text, { column: String(column) }, () => 1 + random.below(longest));
        expect(found, JSON.stringify(text)).toEqual(keys[column - 1]);
      }
    }
  });

  test('lines and keys that end with zero bytes', async () => {
    const random = new Random(6);
    for (let round = 0; round < 100; round++) {
      const keys = Array.from({ length: random.below(10) }, () => 'x'.repeat(random.below(30)));
      const lengths = () => 1 + random.below(10);
      expect(await keysOf(keys.map((key) => `${key}\n`).join(''), {}, lengths)).toEqual(keys);
      expect(await keysOf(keys.map((key) => `${key}\0`).join(''), { null: true }, lengths)).toEqual(keys);
    }
  });
});

test('a line of many parts is copied a few times, not once with each part', async () => {
  // 32 MB in 8192 parts: 137 GB if each part copied all before it.
  const took = await cpuMs(async () => {
    const [key] = await keysOf('x'.repeat(1 << 25), {}, () => 4096);
    expect(key.length).toBe(1 << 25);
  });
  expect(took).toBeLessThan(10_000);
});
