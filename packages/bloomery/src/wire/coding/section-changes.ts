/**
 * The sections of a payload as changes against an earlier payload of the same structure. Both sides
 * hold the earlier one. docs/spec/wire.md specifies the bytes.
 *
 *     00   the bytes of the section
 *     01   a code that stands on its own (section-code.ts)
 *     02   the changes:
 *            counters    the differences, as number codes
 *            positions   which of the old ones are gone, and the new ones
 *            filters     for each: an earlier filter and the bits that changed, or a whole filter
 *            slots       none: the section is as it was
 *            bytes       none: the section is as it was
 *
 * Counters. A difference of 0, -1, 1, -2, 2 … is the number 0, 1, 2, 3, 4 …. The differences are
 * coded apart for each number of digits that the old counters have, because a counter at 0 can only
 * rise, and one at 3 is three times as likely to fall as one at 1. With 5 % of the keys replaced in
 * a half-full counting filter, that saves 9 %.
 *
 * Filters. A rotating filter moves its generations, a scalable one appends stages. So each new
 * filter names the old one from which it differs in the fewest bits.
 *
 * Slots. A static filter or a Bloomier filter that is built again is another random table. There is
 * no delta that is smaller than the filter.
 *
 * The writer takes the smallest of the three forms.
 */

import { decoding, refuse } from '../../frames/envelope.ts';
import { BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { type FrameWithNote, NOTE_BYTES } from '../../frames/nested-kinds.ts';
import { onesIn } from '../../kernel/coders/coders.ts';
import { type ByteReader, ByteWriter, sameBytes, wordsOf } from './byte-stream.ts';
import type { Effort } from './encode-bits.ts';
import {
  bitsWhere,
  digitsOf,
  MOST_DIGITS,
  type Numbers,
  numbersOf,
  readNumbers,
  split,
  writeNumbers,
} from './number-code.ts';
import { isLike, type Section } from './payload-sections.ts';
import {
  CODE,
  codeUnits,
  expandUnits,
  filtersOf,
  MOST_NOTE,
  putFilters,
  readFilter,
  STORED,
  writeFilter,
} from './section-code.ts';
import { digitsIn, gapsOf, positionsAt, putValues, valuesOf } from './section-values.ts';
import { needSizedBits, writeSizedBits } from './sized-bits.ts';
import { Snapshot } from './snapshot.ts';

/** A section and its bytes. */
export interface SectionBytes {
  readonly section: Section;
  readonly bytes: Uint8Array;
}

/** Writes a section as changes against `old`, which is the section at its place before. */
export function writeChanges(writer: ByteWriter, now: SectionBytes, old: SectionBytes, effort: Effort): void {
  const { section, bytes } = now;
  const changes = changesOf(now, old, effort);
  let [mode, code] = [STORED, bytes];
  if (changes !== null && changes.length < code.length) [mode, code] = [CHANGES, changes];
  const hasCode = section.form === 'counters' || section.form === 'positions' || section.form === 'slots';
  // A code that stands on its own is only tried where the changes are not small.
  if (hasCode && 8 * code.length > bytes.length) {
    const alone = codeUnits(section, bytes, effort);
    if (alone !== null && alone.length < code.length) [mode, code] = [CODE, alone];
  }
  writer.byte(mode);
  writer.bytes(code);
}

/** Reads what `writeChanges` wrote into zeros. */
export function readChanges(reader: ByteReader, now: SectionBytes, old: SectionBytes): void {
  const { section, bytes } = now;
  const mode = reader.byte('the mode of a section');
  if (mode === STORED) bytes.set(reader.bytes(bytes.length, 'a section'));
  else if (mode === CODE && section.form !== 'filters' && section.form !== 'bytes') {
    expandUnits(reader, section, bytes);
  } else if (mode === CHANGES) applyChanges(reader, now, old);
  else reader.fail('payload', `expected the mode of a section of ${section.form}, got ${mode}`);
}

const CHANGES = 2;

/** The changes without their mode, or null if they cannot be told. */
function changesOf(now: SectionBytes, old: SectionBytes, effort: Effort): Uint8Array | null {
  const writer = new ByteWriter();
  switch (now.section.form) {
    case 'counters':
      return isLike(old.section, now.section) && writeDifferences(writer, now, old, effort)
        ? writer.finish()
        : null;
    case 'positions':
      return writeMoves(writer, now, old, effort) ? writer.finish() : null;
    case 'filters':
      writeFilters(writer, now, old, effort);
      return writer.finish();
    default:
      return sameBytes(now.bytes, old.bytes) ? new Uint8Array(0) : null;
  }
}

function applyChanges(reader: ByteReader, now: SectionBytes, old: SectionBytes): void {
  const { section, bytes } = now;
  const { form } = section;
  if (form === 'counters' && isLike(old.section, section)) readDifferences(reader, now, old);
  else if (form === 'positions') readMoves(reader, now, old);
  else if (form === 'filters') readFilters(reader, now, old);
  else if (form !== 'counters' && old.bytes.length === bytes.length) bytes.set(old.bytes);
  else reader.fail('payload', `expected ${form} of the same number as before, got others`);
}

/** Returns false if a counter is too high, or changed by too much, for an exact difference. */
function writeDifferences(writer: ByteWriter, now: SectionBytes, old: SectionBytes, effort: Effort): boolean {
  const before = valuesOf(old.bytes, old.section);
  const after = valuesOf(now.bytes, now.section);
  if (before === null || after === null) return false;
  const digits = differenceDigits(now.section);
  const differences = numbersOf(before.length, digits);
  for (let i = 0; i < before.length; i++) {
    const difference = after[i] - before[i];
    const number = difference < 0 ? -2 * difference - 1 : 2 * difference;
    if (number >= 2 ** digits) return false;
    differences[i] = number;
  }
  eachContext(before, (isIn) => {
    const [, chosen] = split(differences, bitsWhere(before, isIn));
    writeNumbers(writer, chosen, digits, effort);
  });
  return true;
}

function readDifferences(reader: ByteReader, now: SectionBytes, old: SectionBytes): void {
  const before = valuesOf(old.bytes, old.section);
  if (before === null)
    reader.fail('payload', 'expected counters of at most 2^53 - 1 before, got higher ones');
  const most = 2 ** digitsIn(now.section) - 1;
  const after = before.slice();
  eachContext(before, (isIn, count) => {
    const differences = readNumbers(reader, count, differenceDigits(now.section));
    for (let i = 0, used = 0; i < before.length; i++) {
      if (!isIn(before[i])) continue;
      const number = differences[used++];
      const value = before[i] + (number % 2 === 0 ? number / 2 : -(number + 1) / 2);
      if (value < 0 || value > most) {
        reader.fail('payload', `expected a counter from 0 to ${most}, got ${value}`);
      }
      after[i] = value;
    }
  });
  putValues(after, now.section, now.bytes);
}

function differenceDigits(section: Section): number {
  return Math.min(MOST_DIGITS, digitsIn(section) + 1);
}

/** Visits the numbers of digits that the values have, from the lowest on, with their counts. */
function eachContext(
  values: Numbers,
  visit: (isIn: (value: number) => boolean, count: number) => void,
): void {
  const counts = new Uint32Array(MOST_DIGITS + 1);
  for (let i = 0; i < values.length; i++) counts[digitsOf(values[i])]++;
  for (const [digits, count] of counts.entries()) {
    if (count > 0) visit((value) => digitsOf(value) === digits, count);
  }
}

/** Returns false if the positions do not rise. */
function writeMoves(writer: ByteWriter, now: SectionBytes, old: SectionBytes, effort: Effort): boolean {
  const before = valuesOf(old.bytes, old.section);
  const after = valuesOf(now.bytes, now.section);
  if (before === null || after === null || now.section.range !== old.section.range) return false;
  if (gapsOf(before, old.section.range) === null || gapsOf(after, now.section.range) === null) return false;
  const gone = missingFrom(before, after);
  const fresh = missingFrom(after, before);
  if (before.length > 0) writeSizedBits(writer, gone, before.length, effort);
  const [, added] = split(after, fresh);
  const gaps = gapsOf(added, now.section.range);
  if (gaps === null) return false;
  writeNumbers(writer, gaps, digitsIn(now.section), effort);
  return true;
}

function readMoves(reader: ByteReader, now: SectionBytes, old: SectionBytes): void {
  const { section } = now;
  const before = valuesOf(old.bytes, old.section);
  if (before === null || section.range !== old.section.range) {
    reader.fail('payload', `expected positions below ${section.range} before`);
  }
  const gone = before.length === 0 ? new Uint32Array(0) : needSizedBits(reader, before.length, 'positions');
  const kept = split(before, gone)[0];
  if (kept.length > section.count) {
    reader.fail('payload', `expected at most ${section.count} positions, got ${kept.length}`);
  }
  const gaps = readNumbers(reader, section.count - kept.length, digitsIn(section));
  const added = positionsAt(gaps, section.range);
  if (added === null) reader.fail('payload', `expected positions below ${section.range}`);
  putValues(mergeRising(kept, added), section, now.bytes);
}

/** A bit for each of the rising `values`: whether the rising `others` lack it. */
function missingFrom(values: Numbers, others: Numbers): Uint32Array {
  let at = 0;
  return bitsWhere(values, (value) => {
    while (at < others.length && others[at] < value) at++;
    return others[at] !== value;
  });
}

function mergeRising(a: Numbers, b: Numbers): Numbers {
  const merged = numbersOf(a.length + b.length, MOST_DIGITS);
  for (let i = 0, atA = 0, atB = 0; i < merged.length; i++) {
    merged[i] = atB >= b.length || (atA < a.length && a[atA] < b[atB]) ? a[atA++] : b[atB++];
  }
  return merged;
}

function writeFilters(writer: ByteWriter, now: SectionBytes, old: SectionBytes, effort: Effort): void {
  const before = filtersOf(old.section, old.bytes).map(({ frame }) => new Snapshot(frame));
  for (const filter of filtersOf(now.section, now.bytes)) {
    const whole = new ByteWriter();
    writeFilter(whole, filter, effort);
    const alone = whole.finish();
    const nearest = nearestTo(new Snapshot(filter.frame), before);
    const changes = new ByteWriter();
    changes.number(filter.note);
    if (nearest !== undefined) {
      writeSizedBits(changes, nearest.changed, before[nearest.index].bits, effort);
    }
    const code = changes.finish();
    const isSmaller = nearest !== undefined && code.length < alone.length;
    writer.number(isSmaller ? nearest.index + 1 : 0);
    writer.bytes(isSmaller ? code : alone);
  }
}

function readFilters(reader: ByteReader, { section, bytes }: SectionBytes, old: SectionBytes): void {
  const before = filtersOf(old.section, old.bytes);
  const filters: FrameWithNote[] = [];
  let left = bytes.length;
  for (let i = 0; i < section.count; i++) {
    const index = reader.number('an earlier filter', before.length);
    const most = left - NOTE_BYTES;
    const filter = index === 0 ? readFilter(reader, most) : readFrom(reader, before[index - 1].frame, most);
    filters.push(filter);
    left -= NOTE_BYTES + filter.frame.length;
  }
  putFilters(reader, filters, bytes);
}

/** Reads a filter that is told by the bits in which it differs from an earlier one. */
function readFrom(reader: ByteReader, frame: Uint8Array, most: number): FrameWithNote {
  if (frame.length > most) {
    reader.fail('payload', `expected a filter of at most ${most} bytes, got ${frame.length}`);
  }
  const from = decoding('frame', () => new Snapshot(frame), 'an earlier filter: ');
  if (from.kind !== BLOOM_FRAME) refuse('structure', reader.offset, 'a BloomFilter', from.kind.name);
  const note = reader.number('a note', MOST_NOTE);
  return { note, frame: from.xor(needSizedBits(reader, from.bits, 'changed bits')).frame };
}

interface Nearest {
  readonly index: number;
  readonly changed: Uint32Array;
}

/** The snapshot with the same parameters that differs in the fewest bits. */
function nearestTo(filter: Snapshot, others: readonly Snapshot[]): Nearest | undefined {
  let best: (Nearest & { readonly ones: number }) | undefined;
  for (const [index, other] of others.entries()) {
    const { start } = filter.head;
    const isLikeIt =
      other.frame.length === filter.frame.length &&
      sameBytes(other.frame.subarray(0, start), filter.frame.subarray(0, start));
    if (!isLikeIt) continue;
    const changed = wordsOf(other.payload);
    const target = wordsOf(filter.payload);
    for (let i = 0; i < changed.length; i++) changed[i] ^= target[i];
    const ones = onesIn(changed);
    if (best === undefined || ones < best.ones) best = { index, changed, ones };
    if (ones === 0) break;
  }
  return best;
}
