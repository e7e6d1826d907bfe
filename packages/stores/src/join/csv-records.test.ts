import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { csvRecords } from './csv-records.ts';

async function recordsOf(text: string | Uint8Array, cut?: number, separator = ',') {
  const bytes = Buffer.from(text);
  async function* pieces() {
    yield bytes.subarray(0, cut ?? bytes.length);
    if (cut !== undefined) yield bytes.subarray(cut);
  }
  const records = [];
  for await (const { values } of csvRecords(pieces(), { separator, name: 'CSV file' })) records.push(values);
  return records;
}

test('csvRecords reads quotes, separators, line ends and doubled quotes in fields', async () => {
  const text = 'a,b\r\n"x,""y""","1\r\n2"\n\n,""\r\nlast,"q"';
  const expected = [
    ['a', 'b'],
    ['x,"y"', '1\r\n2'],
    [null, ''],
    ['last', 'q'],
  ];
  for (let cut = 0; cut <= Buffer.byteLength(text); cut++)
    expect(await recordsOf(text, cut)).toEqual(expected);
  expect(await recordsOf('a;"b;c"\n', undefined, ';')).toEqual([['a', 'b;c']]);
});

test('csvRecords gives back what was written, for random values', async () => {
  const random = new Random(21);
  const letters = [...'a",\n\r é😀'];
  const written = (value: string | null) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`);
  for (let round = 0; round < 300; round++) {
    const rows = Array.from({ length: 1 + random.below(4) }, () =>
      Array.from({ length: 3 }, () =>
        random.below(5) === 0
          ? null
          : Array.from({ length: random.below(5) }, () => random.pick(letters)).join(''),
      ),
    );
    const text = rows.map((row) => `${row.map(written).join(',')}${random.pick(['\n', '\r\n'])}`).join('');
    const cut = random.below(Buffer.byteLength(text));
    expect(await recordsOf(text, cut), JSON.stringify(text)).toEqual(rows);
  }
});

test('csvRecords skips a byte order mark', async () => {
  expect(await recordsOf('\uFEFFa,b\n')).toEqual([['a', 'b']]);
});

test('csvRecords refuses what could be read in two ways', async () => {
  await expect(recordsOf('a\n"b')).rejects.toThrow(
    'expected a closing quote, got the end of the file (CSV file, line 2)',
  );
  await expect(recordsOf('a,b"c"\n')).rejects.toThrow('expected quotes around the whole field');
  await expect(recordsOf('"a"b\n')).rejects.toThrow('expected a separator after a closing quote, got "b"');
  await expect(recordsOf(Buffer.from([0x61, 0x0a, 0xff, 0x0a]))).rejects.toMatchObject({
    code: 'file',
    message: /expected UTF-8, got other bytes/,
  });
});

test('csvRecords takes time in proportion to a field of many lines', async () => {
  const lines = Array.from({ length: 200_000 }, (_, i) => `line ${i}`).join('\n');
  expect(await recordsOf(`"${lines}",b\n`)).toEqual([[lines, 'b']]);
});
