/**
 * Batches in which each key comes with an amount: one number for all keys, or one for each.
 * Everything is checked before anything is added: each amount must be a count, and there must be as
 * many amounts as keys.
 */

import { countOf, type KeyBatch, type KeyLines } from '../../kernel/batches/batch.ts';
import { type Key, typeName } from '../../keys/key.ts';
import { lineEnd } from '../../keys/lines.ts';
import { checkInteger } from '../../math/checks.ts';

/** One count for all keys of a batch, or one for each key in order. */
export type Amounts = number | ArrayLike<number>;

export interface AmountBatch {
  /** The keys. An iterable whose keys had to be counted has become an array. */
  readonly batch: KeyBatch;
  readonly uniform: number;
  /** One amount per key, or null if all are `uniform`. */
  readonly each: Float64Array | null;
}

export function amountsOf(keys: KeyBatch, counts: Amounts = 1): AmountBatch {
  if (typeof counts === 'number') return { batch: keys, uniform: checkAmount(counts), each: null };
  const length = (counts as ArrayLike<number> | null)?.length;
  if (typeof counts !== 'object' || !Number.isSafeInteger(length)) {
    throw new TypeError(
      `Cannot read counts: expected a number or an array of one number per key, got ${typeName(counts)}`,
    );
  }
  const each = new Float64Array(length!);
  for (let i = 0; i < each.length; i++) each[i] = isAmount(counts[i]) ? counts[i] : refuse(counts[i], i);
  const batch = iterated(keys) ? [...(keys as Iterable<Key>)] : keys;
  const expected = numberOf(batch);
  if (expected !== undefined && expected !== each.length) {
    throw new RangeError(
      `Cannot read counts: expected as many as keys, got ${expected} keys, ${each.length} counts`,
    );
  }
  return { batch, uniform: 0, each };
}

/** Returns `count` if it is an integer from 0 to 2^53 - 1. */
export function checkAmount(count: number): number {
  return isAmount(count) ? count : checkInteger('count', count, 0);
}

function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function refuse(value: unknown, i: number): number {
  return checkInteger(`counts[${i}]`, value, 0);
}

/** Whether the keys can be counted only by iterating over them. */
function iterated(keys: KeyBatch): boolean {
  return (
    !Array.isArray(keys) &&
    !(keys instanceof Uint8Array) &&
    Symbol.iterator in Object(keys) &&
    typeof keys !== 'string'
  );
}

/** The number of keys, or undefined if this is no batch; reading it will then throw. */
function numberOf(keys: KeyBatch): number | undefined {
  if (typeof keys !== 'object' || keys === null || keys instanceof Uint8Array) return undefined;
  const { lines } = keys as KeyLines;
  if (lines === undefined) return countOf(keys);
  return lines instanceof Uint8Array ? lineCount(lines) : undefined;
}

function lineCount(lines: Uint8Array): number {
  let count = 0;
  for (let start = 0; start < lines.length; count++) start = lineEnd(lines, start) + 1;
  return count;
}
