import { expect, test } from 'vitest';
import { FrameError } from '../../frames/envelope.ts';
import type { Section } from './payload-sections.ts';
import { codeSections, expandSections } from './section-code.ts';

function section(form: Section['form'], count: number, width: number, range = 0): Section {
  return { form, start: 0, end: Math.ceil((count * width) / 8), count, width, range };
}

function roundTrip(of: Section, payload: Uint8Array): number | null {
  const code = codeSections([of], payload, 'small');
  if (code === null) return null;
  expect(expandSections([of], code, 0)).toEqual(payload);
  for (let length = 0; length < code.length; length++) {
    expect(() => expandSections([of], code.subarray(0, length), 0)).toThrow(FrameError);
  }
  return code.length;
}

test('slots whose lower half is 0 are not taken for unused ones', () => {
  const slots = section('slots', 40, 64);
  const payload = new Uint8Array(slots.end);
  payload[8 * 7 + 6] = 9; // 2^48 and more in slot 7
  payload[8 * 20] = 1;
  expect(roundTrip(slots, payload)).toBeLessThan(40);
  const odd = section('slots', 40, 35);
  const fields = new Uint8Array(odd.end);
  fields[Math.floor((35 * 5 + 33) / 8)] |= 1 << ((35 * 5 + 33) % 8);
  expect(roundTrip(odd, fields)).toBeLessThan(40);
});

test('positions must rise and stay below the range, in both directions', () => {
  const long = section('positions', 500, 16, 60_000);
  const positions = Uint16Array.from({ length: 500 }, (_, i) => 59_999 - 499 * 3 + 3 * i);
  const bytes = new Uint8Array(positions.buffer);
  const code = codeSections([long], bytes, 'small')!;
  expect(roundTrip(long, bytes)).toBe(code.length);
  // The same gaps end one beyond a smaller range.
  expect(() => expandSections([{ ...long, range: 59_999 }], code, 0)).toThrow(
    /expected positions below 59999/,
  );
  expect(codeSections([{ ...long, range: 59_999 }], bytes, 'small')).toBeNull();
  positions[3] = positions[4];
  expect(codeSections([long], bytes, 'small')).toBeNull();
});

test('a mode that is neither 0 nor 1 and bytes at the end are refused', () => {
  const counters = section('counters', 4, 8);
  expect(expandSections([counters], Uint8Array.of(0, 1, 2, 3, 4), 0)).toEqual(Uint8Array.of(1, 2, 3, 4));
  expect(() => expandSections([counters], Uint8Array.of(2, 1, 2, 3, 4), 0)).toThrow(
    /expected 0 or 1 as the mode of a section, got 2/,
  );
  expect(() => expandSections([counters], Uint8Array.of(0, 1, 2, 3, 4, 5), 0)).toThrow(/expected the end/);
});

test('slots have zeros beyond their last bit', () => {
  const slots = section('slots', 3, 5);
  // One slot of 5 bits is used: a full code of slots is 01 02, an array of one is plain.
  expect(expandSections([slots], Uint8Array.of(1, 2, 0, 0b010, 0b1_1111), 0)).toEqual(
    Uint8Array.of(0b1110_0000, 0b11),
  );
  expect(() => expandSections([slots], Uint8Array.of(1, 2, 0, 0b010, 0b11_1111), 0)).toThrow(
    /zeros beyond the last of 5 bits/,
  );
  expect(() => expandSections([slots], Uint8Array.of(1, 0), 0)).toThrow(/expected a code of slots, got none/);
});
