/** The counters and positions of a section as numbers, and back. */

import { getField, putField } from './bit-fields.ts';
import { MOST_DIGITS, type Numbers, numbersOf } from './number-code.ts';
import type { Section } from './payload-sections.ts';

/** The most binary digits of a value of the section. */
export function digitsIn({ width }: Section): number {
  return Math.min(width, MOST_DIGITS);
}

/** The values of a section, or null if one is above 2^53 - 1, which no sketch writes. */
export function valuesOf(bytes: Uint8Array, section: Section): Numbers | null {
  const { count, width } = section;
  const digits = digitsIn(section);
  const values = numbersOf(count, digits);
  // Most counters are 8, 16 or 32 bits wide, and lie in memory as they lie in the frame.
  if (values.BYTES_PER_ELEMENT * 8 === width && width < 64) {
    new Uint8Array(values.buffer).set(bytes);
    return values;
  }
  for (let i = 0; i < count; i++) {
    values[i] = getField(bytes, i * width, digits);
    if (width > digits && getField(bytes, i * width + digits, width - digits) !== 0) return null;
  }
  return values;
}

/** Writes the values of a section into `into`, which must hold zeros. */
export function putValues(values: Numbers, section: Section, into: Uint8Array): void {
  const { count, width } = section;
  if (values.BYTES_PER_ELEMENT * 8 === width && width < 64) {
    into.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    return;
  }
  const digits = digitsIn(section);
  for (let i = 0; i < count; i++) putField(into, i * width, digits, values[i]);
}

/**
 * The gaps between positions: how many positions below each of them follow the one before. Null if
 * the positions do not rise, or are not below `range`.
 */
export function gapsOf(positions: Numbers, range: number): Numbers | null {
  const gaps = positions.slice();
  for (let i = 0, next = 0; i < positions.length; i++) {
    gaps[i] = positions[i] - next;
    if (positions[i] < next || positions[i] >= range) return null;
    next = positions[i] + 1;
  }
  return gaps;
}

/** The positions with these gaps, or null if they do not stay below `range`. */
export function positionsAt(gaps: Numbers, range: number): Numbers | null {
  const positions = gaps.slice();
  for (let i = 0, next = 0; i < gaps.length; i++) {
    const position = next + gaps[i];
    if (position >= range) return null;
    positions[i] = position;
    next = position + 1;
  }
  return positions;
}
