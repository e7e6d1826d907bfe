import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { csv, jsonl } from './file-sides.ts';
import type { KeyType } from './join-key.ts';
import type { JoinSide, Row } from './join-side.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function read(side: JoinSide, names: string[], type: KeyType = 'text'): Promise<Row[]> {
  await side.keyTypes([names[0]], names, {});
  const rows: Row[] = [];
  for await (const batch of side.read({ names, keys: [0], types: [type] }, {})) rows.push(...batch);
  return rows;
}

test('csv takes columns by name, an empty field as NULL, and "" as a text', async () => {
  const path = file('a.csv', 'x,key,y\n1,a,2\n3,,4\n5,"",6\n');
  expect(await read(csv(path), ['key', 'x'])).toEqual([
    ['a', '1'],
    [null, '3'],
    ['', '5'],
  ]);
});

test('csv refuses records of another length, missing columns and doubled ones', async () => {
  await expect(read(csv(file('b.csv', 'k,v\n1,2\n3\n')), ['k'])).rejects.toThrow(
    /expected 2 fields, got 1 \(CSV file .*b\.csv, line 3\)/,
  );
  await expect(read(csv(file('c.csv', 'k,v\n1,2,3\n')), ['k'])).rejects.toThrow('expected 2 fields, got 3');
  await expect(read(csv(file('d.csv', 'k,k\n')), ['k'])).rejects.toThrow(
    'expected one column k, got several',
  );
  await expect(read(csv(file('e.csv', '')), ['k'])).rejects.toThrow('expected a column k, got only');
  expect(() => csv('x', { separator: '' })).toThrow('expected a separator of one character, got ""');
});

test('keys of files are brought into the form of their type, or refused with their line', async () => {
  expect(await read(csv(file('f.csv', 'k\n 007\n+5\n-0\n')), ['k'], 'integer')).toEqual([
    ['7'],
    ['5'],
    ['0'],
  ]);
  await expect(read(csv(file('g.csv', 'k\n1\nx\n')), ['k'], 'integer')).rejects.toThrow(
    /expected a key of type integer, got "x" \(CSV file .*g\.csv, line 3\)/,
  );
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  expect(await read(csv(file('h.csv', `k\n{${uuid.toUpperCase()}}\n`)), ['k'], 'uuid')).toEqual([[uuid]]);
});

test('jsonl takes numbers, texts and null, and refuses a rounded number only where it is asked for', async () => {
  const path = file(
    'a.jsonl',
    '{"k":1,"v":"x","big":12345678901234567890}\n\n{"k":null,"v":{"a":1},"big":0}\n',
  );
  expect(await read(jsonl(path), ['k', 'v'])).toEqual([
    ['1', 'x'],
    [null, '{"a":1}'],
  ]);
  await expect(read(jsonl(path), ['k', 'big'])).rejects.toThrow(
    /expected a number below 2\^53, got a larger one in big; write it as a text \(.*line 1\)/,
  );
  await expect(read(jsonl(file('b.jsonl', '{"k":1e999}\n')), ['k'])).rejects.toThrow('below 2^53');
});

test('jsonl refuses lines that are no objects, and objects without the column', async () => {
  await expect(read(jsonl(file('c.jsonl', '{"k":1}\n{"k":\n')), ['k'])).rejects.toThrow(
    /expected JSON, got "\{\\"k\\":" \(.*line 2\)/,
  );
  await expect(read(jsonl(file('d.jsonl', '[1]\n')), ['k'])).rejects.toThrow('expected an object');
  await expect(read(jsonl(file('e.jsonl', '{"toString":1}\n')), ['k'])).rejects.toThrow(
    'expected a column k, got only toString',
  );
});
