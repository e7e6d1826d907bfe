/** Asks any filter for a key that a person typed, as `bloomery check` does for a line. */

import { CountMinSketch, HeavyHitters, RangeSketch } from 'bloomery';
import type { OpenedFilter } from './open-filter.ts';

export type KeyAnswer =
  | { readonly isMaybe: boolean; readonly count?: number }
  /** The key is no key of this filter. */
  | { readonly problem: string };

export function askFilter({ format, filter, whyMute }: OpenedFilter, key: string): KeyAnswer {
  if (whyMute !== null) return { problem: whyMute };
  if (filter instanceof HeavyHitters || filter instanceof CountMinSketch) {
    const count = filter.count(key);
    return { isMaybe: count > 0, count };
  }
  if (filter instanceof RangeSketch) {
    const number = integerOf(key);
    if (number === null || number < 0n || number > BigInt(filter.largestKey))
      return { problem: `Its keys are whole numbers from 0 to ${filter.largestKey}` };
    const count = filter.count(Number(number));
    return { isMaybe: count > 0, count };
  }
  const asked = filter as { has(key: unknown): boolean };
  if (format === 'binary-fuse') {
    const number = integerOf(key);
    return number === null ? { problem: 'Its keys are whole numbers' } : { isMaybe: asked.has(number) };
  }
  if (format === 'squid') {
    try {
      return { isMaybe: asked.has(key) };
    } catch (error) {
      // Text that is not a URL is in no cache.
      if (error instanceof TypeError) return { isMaybe: false };
      throw error;
    }
  }
  return { isMaybe: asked.has(key) };
}

function integerOf(text: string): bigint | null {
  const digits = text.trim();
  return /^-?\d+$/.test(digits) ? BigInt(digits) : null;
}
