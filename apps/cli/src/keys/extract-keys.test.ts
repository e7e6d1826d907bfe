import { cpuMs } from '@bloomery/testkit/cpu-time';
import type { PackedKeys } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../usage-error.ts';
import { eachKey } from './each-key.ts';
import { type ColumnNames, extractKeys, nameColumns } from './extract-keys.ts';
import { parseJsonPath } from './json-path.ts';
import type { KeyOptions } from './key-options.ts';

function keysOf(text: string, options: KeyOptions, first = true, columns: ColumnNames = new Map()): string[] {
  const chunk = { path: 'keys.csv', bytes: new TextEncoder().encode(text), first };
  const { keys, count, ends } = extractKeys(chunk, options, columns);
  const found = Array.from(eachKey(keys), (key) => Buffer.from(key).toString());
  expect(count).toBe(found.length);
  if (ends !== null) {
    expect(ends.length).toBe(count);
    if (count > 0) expect(ends[count - 1]).toBe(chunk.bytes.length);
  }
  return found;
}

describe('lines', () => {
  test('as they are, the last with or without its end', () => {
    expect(keysOf('a\nb b\n', {})).toEqual(['a', 'b b']);
    expect(keysOf('a\n\nb', {})).toEqual(['a', '', 'b']);
    expect(keysOf('a\r\nb\r\n', {})).toEqual(['a\r', 'b\r']);
    expect(keysOf('', {})).toEqual([]);
  });

  test('with CR LF, and with zero bytes', () => {
    expect(keysOf('a\r\nb\r\nc', { crlf: true })).toEqual(['a', 'b', 'c']);
    expect(keysOf('a\nb\0c\0', { null: true })).toEqual(['a\nb', 'c']);
  });
});

describe('columns', () => {
  test('by number, with quotes as in RFC 4180', () => {
    const csv = 'x,"a,b",1\r\ny,"say ""hi""",2\nz,"two\nlines",3\n,"",4\n';
    expect(keysOf(csv, { column: '2' })).toEqual(['a,b', 'say "hi"', 'two\nlines', '']);
    expect(keysOf(csv, { column: '1' })).toEqual(['x', 'y', 'z', '']);
    expect(keysOf(csv, { column: '3' })).toEqual(['1', '2', '3', '4']);
  });

  test('quotes that are doubled in every way', () => {
    expect(keysOf('""""\n"""a"""\n"a""b""""c"\n', { column: '1' })).toEqual(['"', '"a"', 'a"b""c']);
    expect(keysOf('"a""",1\n"""",2\n"""""",3\n', { column: '1' })).toEqual(['a"', '"', '""']);
  });

  test('a megabyte of quotes takes no longer than a megabyte of anything', async () => {
    const took = await cpuMs(() => {
      expect(keysOf(`"${'""'.repeat(1 << 19)}"\n`, { column: '1' })).toEqual(['"'.repeat(1 << 19)]);
    });
    expect(took).toBeLessThan(5000);
  });

  test('behind a closing quote there is nothing but blanks', () => {
    expect(keysOf('"a" ,"b"\t\r\n', { column: '1' })).toEqual(['a']);
    expect(keysOf('"a"x,b\n', { column: '2' })).toEqual(['b']); // other columns are not checked
    expect(() => keysOf('x,y\n"a"x,b\n', { column: '1' })).toThrow(
      'line 2 has text behind a closing quote in column 1',
    );
  });

  test('the names of a header with several lines', () => {
    const columns: ColumnNames = new Map();
    const chunk = { path: 'k', bytes: new TextEncoder().encode('"a\nb",email\n1,x\n'), first: true };
    nameColumns(chunk, { column: 'email' }, columns);
    expect(columns.get('k')).toBe(1);
    nameColumns({ ...chunk, first: false }, { column: 'nobody' }, columns);
    nameColumns(chunk, {}, columns);
    expect([...columns.values()]).toEqual([1]);
  });

  test('by name, in the first chunk of a file and in those after it', () => {
    const columns: ColumnNames = new Map();
    expect(keysOf('id,email\n1,a@x\n2,b@x\n', { column: 'email' }, true, columns)).toEqual(['a@x', 'b@x']);
    expect(keysOf('3,c@x\n', { column: 'email' }, false, columns)).toEqual(['c@x']);
  });

  test('tabs and other delimiters', () => {
    expect(keysOf('a\tb\n', { column: '2', delimiter: '\\t' })).toEqual(['b']);
    expect(keysOf('a;b\n', { column: '2', delimiter: ';' })).toEqual(['b']);
    expect(() => keysOf('a', { column: '1', delimiter: '::' })).toThrow(UsageError);
  });

  test('what is missing is an error that names the line; blank lines are empty keys', () => {
    expect(() => keysOf('a,b\nc\n', { column: '2' })).toThrow(
      'keys.csv: line 2 has 1 column, expected column 2',
    );
    expect(() => keysOf('"a\nb",b\nc\n', { column: '2' })).toThrow('line 3 has 1 column,');
    expect(() => keysOf('id,name\n', { column: 'email' })).toThrow('has no column "email"; it has id, name');
    expect(keysOf('a,b\n\nc,d\n', { column: '2' })).toEqual(['b', '', 'd']);
  });

  test('a header is skipped', () => {
    expect(keysOf('n\n1\n2\n', { column: '1', header: true })).toEqual(['1', '2']);
  });
});

describe('JSON lines', () => {
  test('strings, numbers and booleans at a path', () => {
    const lines = '{"u":{"id":"é"}}\n{"u":{"id":7}}\n{"u":{"id":true}}\n';
    expect(keysOf(lines, { jsonl: '.u.id' })).toEqual(['é', '7', 'true']);
    expect(keysOf('{"a b":[1,"x"]}', { jsonl: '["a b"][1]' })).toEqual(['x']);
    expect(keysOf('"x"\n', { jsonl: '.' })).toEqual(['x']);
  });

  test('anything else is an error', () => {
    expect(() => keysOf('{"a":1}\n{"a":{}}\n', { jsonl: '.a' })).toThrow(
      'line 2 has no text or number at .a',
    );
    expect(() => keysOf('{"a":1}\n', { jsonl: '.b' })).toThrow('no text or number');
    expect(() => keysOf('{"toString":1}\n', { jsonl: '.hasOwnProperty' })).toThrow('no text or number');
    expect(() => keysOf('nonsense\n', { jsonl: '.a' })).toThrow('line 1 is not JSON');
    expect(() => parseJsonPath('a..b')).toThrow('--jsonl must be a path');
    expect(() => parseJsonPath('["\\q"]')).toThrow('--jsonl must be a path');
  });

  test('numbers of which several would be one key are an error', () => {
    const exact = '{"a":9007199254740991}\n{"a":-1.50}\n{"a":"9007199254740993"}\n';
    expect(keysOf(exact, { jsonl: '.a' })).toEqual(['9007199254740991', '-1.5', '9007199254740993']);
    for (const number of ['9007199254740993', '-9007199254740993', '1e400']) {
      expect(() => keysOf(`{"a":${number}}\n`, { jsonl: '.a' })).toThrow(
        'line 1 has a number at .a that is too large to be exact',
      );
    }
  });
});

test('packed keys follow each other', () => {
  const chunk = { path: 'k', bytes: new TextEncoder().encode('a\0bc\0'), first: true };
  const { bytes, offsets } = extractKeys(chunk, { null: true }).keys as PackedKeys;
  expect(Buffer.from(bytes).toString()).toBe('abc');
  expect([...offsets]).toEqual([0, 1, 3]);
});
