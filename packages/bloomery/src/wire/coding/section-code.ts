/**
 * The sections of a payload as codes that stand on their own. docs/spec/wire.md specifies the
 * bytes.
 *
 *     counters    00 and the bytes, or 01 and a number code
 *     positions   00 and the bytes, or 01 and a number code of the gaps
 *     slots       00 and the bytes, or 01, a bit code of the slots that are not 0, and those slots
 *     filters     for each: its note, the length of its frame, its frame, coded or plain
 *     bytes       the bytes
 *
 * Why each is near its entropy. A counter is coded by the distribution of all counters of its
 * array. The positions of a hash list are the ones of a sparse bit array, and their gaps are
 * independent. The slots of a static filter or a Bloomier filter are random, except for
 * the ninth part or so that is not used and is 0: there is no more to gain than that. A nested
 * filter is coded as if it were alone.
 *
 * A section that would not become smaller is stored, so a payload grows by one byte per section at
 * most; `codeSections` refuses a payload that would not become smaller as a whole.
 */

import { CHECKSUM, decoding, refuse } from '../../frames/envelope.ts';
import { CODED, readHead } from '../../frames/frame.ts';
import { BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { type FrameWithNote, joinFrames, NOTE_BYTES, splitFrames } from '../../frames/nested-kinds.ts';
import { getField, putField } from './bit-fields.ts';
import { ByteReader, ByteWriter } from './byte-stream.ts';
import { codeBitsFrame, expandBitsFrame, isCoded } from './coded-bits-frame.ts';
import type { Effort } from './encode-bits.ts';
import { readNumbers, writeNumbers } from './number-code.ts';
import type { Section } from './payload-sections.ts';
import { digitsIn, gapsOf, positionsAt, putValues, valuesOf } from './section-values.ts';
import { needSizedBits, writeSizedBits } from './sized-bits.ts';

/** The mode of a section: its bytes as they are. */
export const STORED = 0;
/** The mode of a section: a code that stands on its own. */
export const CODE = 1;

/** The highest note of a nested filter. */
export const MOST_NOTE = 2 ** 48 - 1;

/** Codes a payload. Returns null if the code would not be smaller. */
export function codeSections(
  sections: readonly Section[],
  payload: Uint8Array,
  effort: Effort,
): Uint8Array | null {
  const writer = new ByteWriter();
  for (const section of sections) {
    const bytes = payload.subarray(section.start, section.end);
    if (section.form === 'bytes') writer.bytes(bytes);
    else if (section.form === 'filters') writeFilters(writer, section, bytes, effort);
    else if (bytes.length > 0) writeUnits(writer, bytes, codeUnits(section, bytes, effort));
  }
  const code = writer.finish();
  return code.length < payload.length ? code : null;
}

/** Reads a payload. `base` is where the code begins in its message, for the offsets in errors. */
export function expandSections(sections: readonly Section[], code: Uint8Array, base: number): Uint8Array {
  const reader = new ByteReader(code, base);
  const payload = new Uint8Array(sections[sections.length - 1].end);
  for (const section of sections) {
    const into = payload.subarray(section.start, section.end);
    if (section.form === 'bytes') into.set(reader.bytes(into.length, 'a section'));
    else if (section.form === 'filters') readFilters(reader, section, into);
    else if (into.length > 0) readUnits(reader, section, into);
  }
  reader.end();
  return payload;
}

/** The code of counters, positions or slots without its mode, or null if they have none. */
export function codeUnits(section: Section, bytes: Uint8Array, effort: Effort): Uint8Array | null {
  const writer = new ByteWriter();
  if (section.form === 'slots') {
    writeSlots(writer, section, bytes, effort);
    return writer.finish();
  }
  const values = valuesOf(bytes, section);
  const numbers = values === null || section.form === 'counters' ? values : gapsOf(values, section.range);
  if (numbers === null) return null;
  writeNumbers(writer, numbers, digitsIn(section), effort);
  return writer.finish();
}

/** Reads what `codeUnits` wrote into zeros. */
export function expandUnits(reader: ByteReader, section: Section, into: Uint8Array): void {
  if (section.form === 'slots') {
    readSlots(reader, section, into);
    return;
  }
  const numbers = readNumbers(reader, section.count, digitsIn(section));
  const values = section.form === 'counters' ? numbers : positionsAt(numbers, section.range);
  if (values === null) reader.fail('payload', `expected positions below ${section.range}`);
  putValues(values, section, into);
}

/** Writes a nested filter: its note, and its frame after its length, coded if that is smaller. */
export function writeFilter(writer: ByteWriter, { frame, note }: FrameWithNote, effort: Effort): void {
  const coded = codeBitsFrame(BLOOM_FRAME, frame, effort);
  const smaller = coded.length < frame.length ? coded : frame;
  writer.number(note);
  writer.number(smaller.length);
  writer.bytes(smaller);
}

/** Reads a nested filter. Its plain frame must not have more than `most` bytes. */
export function readFilter(reader: ByteReader, most: number): FrameWithNote {
  const note = reader.number('a note', MOST_NOTE);
  const length = reader.number('the length of a filter', reader.left);
  const at = reader.offset;
  const frame = reader.bytes(length, 'a filter');
  return decoding(
    'frame',
    () => {
      const head = readHead(BLOOM_FRAME, frame);
      const bits = BLOOM_FRAME.payloadBits(head.variant & ~CODED, head.parameters);
      const plain = isCoded(head) ? head.start + Math.ceil(bits / 8) + CHECKSUM : length;
      if (plain > most) refuse('payload', head.start, `a filter of at most ${most} bytes`, plain);
      return { note, frame: isCoded(head) ? expandBitsFrame(BLOOM_FRAME, frame, most) : frame };
    },
    '',
    at,
  );
}

/** The filters of a section with their notes. Throws if they do not fill it. */
export function filtersOf({ count, start }: Section, bytes: Uint8Array): FrameWithNote[] {
  return splitFrames(bytes, start, count).map((part) => ({
    frame: bytes.subarray(part.start, part.end),
    note: part.note,
  }));
}

/** Copies filters into a section, which they must fill. */
export function putFilters(reader: ByteReader, filters: readonly FrameWithNote[], into: Uint8Array): void {
  const bytes = joinFrames(filters);
  if (bytes.length !== into.length) {
    reader.fail('payload', `expected filters of ${into.length} bytes, got ${bytes.length}`);
  }
  into.set(bytes);
}

function writeUnits(writer: ByteWriter, bytes: Uint8Array, code: Uint8Array | null): void {
  const coded = code !== null && code.length < bytes.length;
  writer.byte(coded ? CODE : STORED);
  writer.bytes(coded ? code : bytes);
}

function readUnits(reader: ByteReader, section: Section, into: Uint8Array): void {
  const mode = reader.byte('the mode of a section');
  if (mode === STORED) into.set(reader.bytes(into.length, 'a section'));
  else if (mode === CODE) expandUnits(reader, section, into);
  else reader.fail('payload', `expected 0 or 1 as the mode of a section, got ${mode}`);
}

function writeFilters(writer: ByteWriter, section: Section, bytes: Uint8Array, effort: Effort): void {
  for (const [i, filter] of filtersOf(section, bytes).entries()) {
    const what = `filter ${i + 1} of ${section.count}: `;
    decoding('frame', () => writeFilter(writer, filter, effort), what);
  }
}

function readFilters(reader: ByteReader, { count }: Section, into: Uint8Array): void {
  const filters: FrameWithNote[] = [];
  let left = into.length;
  for (let i = 0; i < count; i++) {
    const filter = readFilter(reader, left - NOTE_BYTES);
    filters.push(filter);
    left -= NOTE_BYTES + filter.frame.length;
  }
  putFilters(reader, filters, into);
}

function writeSlots(writer: ByteWriter, { count, width }: Section, bytes: Uint8Array, effort: Effort): void {
  const used = new Uint32Array(Math.ceil(count / 32));
  const slots = new Uint8Array(bytes.length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (!copySlot(bytes, i * width, slots, at, width)) continue;
    used[i >>> 5] |= 1 << (i & 31);
    at += width;
  }
  writeSizedBits(writer, used, count, effort);
  writer.bytes(slots.subarray(0, Math.ceil(at / 8)));
}

function readSlots(reader: ByteReader, { count, width }: Section, into: Uint8Array): void {
  const used = needSizedBits(reader, count, 'slots');
  let bits = 0;
  for (let i = 0; i < count; i++) bits += width * ((used[i >>> 5] >>> (i & 31)) & 1);
  const slots = reader.bytes(Math.ceil(bits / 8), 'slots');
  if (bits % 8 !== 0 && slots[slots.length - 1] >>> (bits % 8) !== 0) {
    reader.fail('payload', `expected zeros beyond the last of ${bits} bits`);
  }
  for (let i = 0, at = 0; i < count; i++) {
    if (((used[i >>> 5] >>> (i & 31)) & 1) === 0) continue;
    copySlot(slots, at, into, i * width, width);
    at += width;
  }
}

/** Copies a slot of up to 64 bits into zeros. Returns whether it is not 0. */
function copySlot(from: Uint8Array, at: number, to: Uint8Array, target: number, width: number): boolean {
  const half = Math.min(width, 32);
  const low = getField(from, at, half);
  const high = getField(from, at + half, width - half);
  putField(to, target, half, low);
  putField(to, target + half, width - half, high);
  return low !== 0 || high !== 0;
}
