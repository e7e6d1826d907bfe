import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { copyRows } from './copy-text.ts';

async function rowsOf(text: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text);
  async function* pieces() {
    let from = 0;
    for (const to of [...cuts, bytes.length]) {
      yield bytes.subarray(from, to);
      from = to;
    }
  }
  const rows = [];
  for await (const batch of copyRows(pieces())) rows.push(...batch);
  return rows;
}

test('copyRows undoes every escape, and tells NULL from the text \\N', async () => {
  const text = 'a\\tb\tc\\nd\t\\N\n\\\\N\t\\b\\f\\r\\v\t\n';
  expect(await rowsOf(text)).toEqual([
    ['a\tb', 'c\nd', null],
    ['\\N', '\b\f\r\v', ''],
  ]);
});

test('copyRows does not depend on where the stream is cut', async () => {
  const text = 'é€😀\t\\\\t\n\\N\tx\\\\\\n\nlast\trow\n';
  const whole = await rowsOf(text);
  expect(whole).toEqual([
    ['é€😀', '\\t'],
    [null, 'x\\\n'],
    ['last', 'row'],
  ]);
  const { length } = Buffer.from(text);
  for (let cut = 0; cut <= length; cut++) expect(await rowsOf(text, [cut])).toEqual(whole);
  const random = new Random(8);
  for (let round = 0; round < 50; round++) {
    const cuts = Array.from({ length: 6 }, () => random.below(length)).sort((a, b) => a - b);
    expect(await rowsOf(text, cuts)).toEqual(whole);
  }
});

test('copyRows of nothing is nothing', async () => {
  expect(await rowsOf('')).toEqual([]);
});
