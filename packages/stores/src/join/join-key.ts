/**
 * Keys of a join: the values of one or several columns, as texts in PostgreSQL's own form. A uuid
 * has lower-case digits and hyphens, an integer no leading zeros, a bytea begins with `\x`. So the
 * same key has the same text on both sides, and texts are compared byte for byte.
 *
 * A key with a NULL in it is null here, because NULL equals nothing.
 *
 * Four families of types exist. PostgreSQL hashes equal integers of all three sizes alike. Types
 * that have equal values with different texts, such as numeric (1.0 and 1.00) and char(n), are
 * refused.
 */

import { JoinError } from './join-error.ts';
import { hashBytes, hashHigh, hashInteger, hashLow } from './postgres-hash.ts';

export type KeyType = 'text' | 'integer' | 'uuid' | 'bytea';

export const KEY_TYPES: readonly KeyType[] = ['text', 'integer', 'uuid', 'bytea'];

const FAMILIES: Readonly<Record<string, KeyType>> = {
  text: 'text',
  varchar: 'text',
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  uuid: 'uuid',
  bytea: 'bytea',
};

/** The family of a type of PostgreSQL by its internal name, or undefined for other types. */
export function familyOf(postgresType: string): KeyType | undefined {
  return Object.hasOwn(FAMILIES, postgresType) ? FAMILIES[postgresType] : undefined;
}

/** The type of an array of such keys. */
export const ARRAY_TYPES: Readonly<Record<KeyType, string>> = {
  text: 'text[]',
  integer: 'int8[]',
  uuid: 'uuid[]',
  bytea: 'bytea[]',
};

/** One text for the values of several columns. Different keys have different texts. */
export function keyText(parts: readonly (string | null)[]): string | null {
  if (parts.length === 1) return parts[0];
  let text = '';
  for (const part of parts) {
    if (part === null) return null;
    text += `${part.length}:${part}`;
  }
  return text;
}

const INTEGER = /^[+-]?\d{1,40}$/;
const UUID = /^\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/;
const BYTEA = /^\\x(?:[0-9a-f]{2})*$/;

/** The value of a file or of SQLite in PostgreSQL's form. Throws if it is not of the type. */
export function canonicalPart(type: KeyType, value: string, where: string): string {
  if (type === 'text') {
    if (value.includes('\0')) throw wrong(type, 'a NUL character', where);
    return value;
  }
  const plain = value.trim().toLowerCase();
  if (type === 'integer' && INTEGER.test(plain)) {
    const number = BigInt(plain.replace('+', ''));
    if (BigInt.asIntN(64, number) === number) return number.toString();
  }
  if (type === 'uuid') {
    const match = UUID.exec(plain);
    if (match !== null) return match.slice(1).join('-');
  }
  if (type === 'bytea' && BYTEA.test(plain)) return plain;
  throw wrong(type, JSON.stringify(value.slice(0, 60)), where);
}

function wrong(type: KeyType, got: string, where: string): JoinError {
  return new JoinError('value', `Cannot join: expected a key of type ${type}, got ${got} (${where})`);
}

const encoder = new TextEncoder();
let scratch = new Uint8Array(4096);

/**
 * Hashes a key by PostgreSQL's functions, from one 64-bit seed. The hash of a column is the seed of
 * the next one. The result is in `hashHigh()` and `hashLow()`.
 */
export function hashKeyParts(types: readonly KeyType[], parts: readonly string[], seed: number): void {
  let seedHigh = 0;
  let seedLow = seed | 0;
  for (let i = 0; i < parts.length; i++) {
    hashPart(types[i], parts[i], seedHigh, seedLow);
    seedHigh = hashHigh();
    seedLow = hashLow();
  }
}

function hashPart(type: KeyType, text: string, seedHigh: number, seedLow: number): void {
  if (type === 'integer') hashInteger(BigInt(text), seedHigh, seedLow);
  else if (type === 'uuid') hashBytes(uuidBytes(text), seedHigh, seedLow);
  else hashBytes(utf8(type === 'bytea' ? text.slice(2) : text), seedHigh, seedLow);
}

function utf8(text: string): Uint8Array {
  if (text.length * 3 > scratch.length) scratch = new Uint8Array(text.length * 6);
  return scratch.subarray(0, encoder.encodeInto(text, scratch).written);
}

function uuidBytes(text: string): Uint8Array {
  const digits = text.replaceAll('-', '');
  for (let i = 0; i < 16; i++) scratch[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16);
  return scratch.subarray(0, 16);
}

/**
 * The SQL expression of the same hash. `columns` are SQL expressions. Functions have their schema
 * and constants their type, because another user of the database could have made functions of the
 * same names that fit the types of a column better.
 */
export function hashSql(types: readonly KeyType[], columns: readonly string[], seed: number): string {
  let sql = `${seed}::int8`;
  for (const [i, column] of columns.entries()) sql = partSql(types[i], column, sql);
  return sql;
}

function partSql(type: KeyType, column: string, seed: string): string {
  if (type === 'integer') return `pg_catalog.hashint8extended(${column}, ${seed})`;
  if (type === 'uuid') return `pg_catalog.uuid_hash_extended(${column}, ${seed})`;
  return type === 'bytea'
    ? `pg_catalog.hashtextextended(pg_catalog.encode(${column}, 'hex'), ${seed})`
    : `pg_catalog.hashtextextended(${column}, ${seed})`;
}

/** Keys as the text of an array of PostgreSQL. Only texts and byteas need quotes. */
export function arrayLiteral(type: KeyType, parts: readonly string[]): string {
  if (!needsQuotes(type)) return `{${parts.join(',')}}`;
  return `{${parts.map((part) => `"${part.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** The bytes of a key in such an array, with its comma. */
export function literalBytes(type: KeyType, part: string): number {
  const bytes = Buffer.byteLength(part) + 1;
  if (!needsQuotes(type)) return bytes;
  return bytes + 2 + (part.match(/["\\]/g)?.length ?? 0);
}

function needsQuotes(type: KeyType): boolean {
  return type === 'text' || type === 'bytea';
}
