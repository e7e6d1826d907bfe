/**
 * Files as sides of a join: CSV with a header and JSON lines. Their columns have no types, so a key
 * takes the type of the other side, and each value is checked against it. In CSV an empty field is
 * NULL, and `""` is an empty text.
 *
 * A file is read from its beginning each time. A source that can be read once, such as standard
 * input, serves as the far side only.
 */

import { createReadStream } from 'node:fs';
import { csvRecords } from './csv-records.ts';
import { JoinError } from './join-error.ts';
import { canonicalPart } from './join-key.ts';
import type { Fields, JoinSide, ReadOptions, Row } from './join-side.ts';
import { textLines } from './text-lines.ts';

/** A path, or a function that opens the bytes again each time it is called. */
export type FileSource = string | (() => AsyncIterable<Uint8Array>);

export interface CsvOptions {
  /** One character. Default: a comma. */
  readonly separator?: string;
}

type Values = readonly (string | null)[];

/** A CSV file as a side of a join. Its first record names the columns. */
export function csv(source: FileSource, { separator = ',' }: CsvOptions = {}): JoinSide {
  if (separator.length !== 1 || '"\r\n'.includes(separator))
    throw new RangeError(
      `Cannot read CSV: expected a separator of one character, got ${JSON.stringify(separator)}`,
    );
  const name = nameOf(source, 'CSV file');
  return fileSide(source, name, async function* (bytes, wanted) {
    let header: readonly (string | null)[] | undefined;
    let places: number[] = [];
    for await (const { line, values } of csvRecords(bytes, { separator, name })) {
      if (header === undefined) {
        header = values;
        places = placesOf(header, wanted, name);
      } else if (values.length === header.length) {
        yield { line, values: places.map((place) => values[place]) };
      } else {
        throw new JoinError(
          'file',
          `Cannot join: expected ${header.length} fields, got ${values.length} (${name}, line ${line})`,
        );
      }
    }
    if (header === undefined) placesOf([], wanted, name);
  });
}

/** A file of JSON lines as a side of a join: an object for each line. */
export function jsonl(source: FileSource): JoinSide {
  const name = nameOf(source, 'JSON lines');
  return fileSide(source, name, async function* (bytes, wanted) {
    let line = 0;
    for await (const text of textLines(bytes, name)) {
      line++;
      if (text.trim() !== '') yield { line, values: objectValues(text, wanted, `${name}, line ${line}`) };
    }
  });
}

interface FileRow {
  readonly line: number;
  readonly values: Values;
}

type ReadRows = (bytes: AsyncIterable<Uint8Array>, wanted: readonly string[]) => AsyncIterable<FileRow>;

const BATCH = 10_000;

function fileSide(source: FileSource, name: string, readRows: ReadRows): JoinSide {
  const open = () => (typeof source === 'string' ? createReadStream(source) : source());
  return {
    name,
    async keyTypes(on, columns) {
      // A path is looked at before anything is read from the other side.
      if (typeof source === 'string') {
        for await (const _ of readRows(open(), [...on, ...columns])) break;
      }
      return on.map(() => null);
    },
    async *read(fields: Fields, { signal }: ReadOptions) {
      let batch: Row[] = [];
      for await (const { line, values } of readRows(open(), fields.names)) {
        const row = [...values];
        for (const [i, place] of fields.keys.entries()) {
          const value = row[place];
          if (value !== null) row[place] = canonicalPart(fields.types[i], value, `${name}, line ${line}`);
        }
        batch.push(row);
        if (batch.length < BATCH) continue;
        signal?.throwIfAborted();
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    },
  };
}

function nameOf(source: FileSource, kind: string): string {
  return typeof source === 'string' ? `${kind} ${source}` : kind;
}

function placesOf(header: readonly (string | null)[], wanted: readonly string[], name: string): number[] {
  return wanted.map((column) => {
    const place = header.indexOf(column);
    if (place >= 0 && header.lastIndexOf(column) !== place)
      throw new JoinError('column', `Cannot join: expected one column ${column}, got several (${name})`);
    if (place >= 0) return place;
    throw new JoinError(
      'column',
      `Cannot join: expected a column ${column}, got only ${header.join(', ')} (${name})`,
    );
  });
}

function objectValues(text: string, wanted: readonly string[], where: string): Values {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new JoinError(
      'file',
      `Cannot join: expected JSON, got ${JSON.stringify(text.slice(0, 60))} (${where})`,
      { cause },
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new JoinError('file', `Cannot join: expected an object, got another value (${where})`);
  const object = value as Record<string, unknown>;
  return wanted.map((column) => {
    if (!Object.hasOwn(object, column)) {
      const all = Object.keys(object).join(', ');
      throw new JoinError('column', `Cannot join: expected a column ${column}, got only ${all} (${where})`);
    }
    return textOf(object[column], column, where);
  });
}

function textOf(field: unknown, column: string, where: string): string | null {
  if (field === null) return null;
  // An integer that a double cannot hold has been rounded already, and could equal another one.
  if (typeof field === 'number' && !(Math.abs(field) <= Number.MAX_SAFE_INTEGER)) {
    throw new JoinError(
      'value',
      `Cannot join: expected a number below 2^53, got a larger one in ${column}; write it as a text (${where})`,
    );
  }
  return typeof field === 'object' ? JSON.stringify(field) : String(field);
}
