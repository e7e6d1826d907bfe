/**
 * Keys of a RangeSketch: each record is an integer in decimal digits. A record of `count` may also
 * be a range, as in 10..99; both ends belong to it.
 */

import type { KeyBatch } from 'bloomery';
import { UsageError } from '../usage-error.ts';
import { eachKey } from './each-key.ts';

/** The integers of a batch. `most` is the largest that the sketch counts. */
export function integersOf(keys: KeyBatch, most: number): number[] {
  return Array.from(eachKey(keys), (key) => integerIn(textOf(key), most));
}

export interface KeyRange {
  readonly from: number;
  readonly to: number;
}

/** The ranges of a batch; a single integer is the range of itself. */
export function rangesOf(keys: KeyBatch, most: number): KeyRange[] {
  return Array.from(eachKey(keys), (key) => {
    const text = textOf(key);
    const [from, to = from, ...rest] = text.split('..').map((end) => integerIn(end, most, text));
    if (rest.length === 0 && from <= to) return { from, to };
    throw new UsageError(`${quoted(text)} is no range; write the smaller end first, as in 10..99`);
  });
}

function integerIn(digits: string, most: number, text = digits): number {
  const trimmed = digits.trim();
  const value = Number(trimmed);
  if (/^\d+$/.test(trimmed) && value <= most) return value;
  throw new UsageError(
    `${quoted(text)} is no key of a range-sketch; its keys are integers from 0 to ${most} (build --universe-bits)`,
  );
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString();
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
