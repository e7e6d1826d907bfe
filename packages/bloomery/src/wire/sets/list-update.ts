/**
 * Updates of a hash list that fit many earlier states at once.
 *
 * A delta (delta.ts) leads from one state to one other. A publisher of static files would need a
 * delta for each state that a client may hold. An update says of some positions that they are in
 * the list now, and of others that they are not. It can be applied to every state since the one at
 * which it begins: a position that is there already, or gone already, changes nothing. So one file
 * for each of a few lengths of time serves all clients, and the publisher keeps no state per
 * client.
 *
 *     0   4  magic 'BLMU' (42 4C 4D 55)
 *     4   1  version: 1
 *     5   4  the head of the list: 32 bits of Forge64, seed 0, of the frame's bytes up to the count
 *     9   …  numbers (LEB128): how many positions are present, how many are absent
 *         …  the parameter of each of the two that is not empty
 *         …  Golomb codes of the positions (gap-code.ts), present ones first
 *         4  checksum of the bytes before, as in a frame
 *
 * What it costs. A removed position takes as many bits as an added one. A delta names it by its
 * rank, which takes 7 bits less in a list with 100 bits per key. That is the price of fitting
 * earlier states.
 *
 * What it does not do. An update does not say whether the state at hand is one that it fits. The
 * caller knows the times of both and compares the result with a signed digest (bloomery/signing).
 * An older state leads to another result, which that comparison refuses.
 *
 * Untrusted bytes. Counts are compared with a limit and with the bits at hand before memory is
 * taken, positions rise and are below the size of the list, and no position is both present and
 * absent.
 */

import {
  CHECKSUM,
  checkChecksum,
  checkEnvelope,
  decoding,
  refuse,
  UPDATE_MAGIC,
  VERSION,
  viewOf,
  wholeSum,
  writeChecksum,
} from '../../frames/envelope.ts';
import { checkPlain, type PlainFrame, readHead, withPayload } from '../../frames/frame.ts';
import { HASH_LIST_FRAME } from '../../frames/table-kinds.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { checkNumber } from '../../math/checks.ts';
import { ByteReader, ByteWriter } from '../coding/byte-stream.ts';
import { GapReader, GapWriter, gapParameter, MAX_PARAMETER } from '../coding/gap-code.ts';
import { type Numbers, numbersOf } from '../coding/number-code.ts';
import { type Section, sectionsOf } from '../coding/payload-sections.ts';
import { putValues, valuesOf } from '../coding/section-values.ts';

/** Changes of some positions of a list. Both arrays rise and have nothing in common. */
export interface ListChanges {
  readonly present: Float64Array;
  readonly absent: Float64Array;
}

/** The positions that tell two plain frames of a `HashList` apart, as changes from the first. */
export function listChanges(from: Uint8Array, to: Uint8Array): ListChanges {
  const [before, after] = [readList(from), readList(to)];
  if (before.headSum !== after.headSum) {
    throw new RangeError(
      'Cannot compare lists: expected two with the same parameters and seed, got two that differ',
    );
  }
  const [present, absent]: [number[], number[]] = [[], []];
  const [old, now] = [before.positions, after.positions];
  let i = 0;
  for (const position of now) {
    for (; i < old.length && old[i] < position; i++) absent.push(old[i]);
    if (i < old.length && old[i] === position) i++;
    else present.push(position);
  }
  for (; i < old.length; i++) absent.push(old[i]);
  return { present: Float64Array.from(present), absent: Float64Array.from(absent) };
}

/**
 * Joins changes that follow each other into one, which fits every state from the first of them on.
 * If a position changed more than once, the last change counts.
 */
export function joinListChanges(steps: Iterable<ListChanges>): ListChanges {
  const isPresent = new Map<number, boolean>();
  for (const { present, absent } of steps) {
    for (const position of present) isPresent.set(position, true);
    for (const position of absent) isPresent.set(position, false);
  }
  const sorted = (wanted: boolean) => {
    const positions: number[] = [];
    for (const [position, is] of isPresent) if (is === wanted) positions.push(position);
    return Float64Array.from(positions).sort();
  };
  return { present: sorted(true), absent: sorted(false) };
}

/** Writes changes of a list as an update. `frame` is any plain frame of the list. */
export function makeListUpdate(frame: Uint8Array, { present, absent }: ListChanges): Uint8Array {
  const { range, headSum } = readListHead(frame);
  const writer = new ByteWriter();
  writer.bytes(new Uint8Array(HEAD));
  for (const { length } of [present, absent]) writer.number(length);
  const gaps = new GapWriter();
  for (const positions of [present, absent]) {
    checkPositions(positions, range);
    if (positions.length > 0) writer.number(gapParameter(positions.length, range));
  }
  for (const positions of [present, absent]) {
    if (positions.length === 0) continue;
    gaps.begin(gapParameter(positions.length, range));
    for (const position of positions) gaps.put(position);
  }
  writer.bytes(gaps.finish());
  writer.bytes(new Uint8Array(CHECKSUM));
  const bytes = writer.finish();
  bytes.set([...UPDATE_MAGIC, VERSION]);
  viewOf(bytes).setUint32(LIST, headSum, true);
  writeChecksum(bytes);
  return bytes;
}

export interface ListUpdateOptions {
  /** Updates with more positions, which take 8 bytes each in memory, are refused. Default 2^22. */
  readonly maxPositions?: number;
}

/** Reads an update of the list that `frame` is a plain frame of. Only the head of it is read. */
export function readListUpdate(
  frame: Uint8Array,
  update: Uint8Array,
  options: ListUpdateOptions = {},
): ListChanges {
  checkOptions('readListUpdate', options, ['maxPositions']);
  return readUpdate(readListHead(frame), update, options);
}

/** Returns the plain frame of a list after an update. */
export function applyListUpdate(
  frame: Uint8Array,
  update: Uint8Array,
  options: ListUpdateOptions = {},
): Uint8Array {
  checkOptions('applyListUpdate', options, ['maxPositions']);
  const list = readList(frame);
  const changes = readUpdate(list, update, options);
  const positions = mergeChanges(list.positions, changes);
  const [range, hashes, capacity] = list.head.parameters;
  const [section] = sectionsOf(HASH_LIST_FRAME, {
    parameters: [range, hashes, capacity, positions.length],
  });
  const payload = new Uint8Array(section.end);
  putValues(positions, section, payload);
  const result = withPayload(frame, list.head.variant, list.head.start, payload);
  for (let i = 0, rest = positions.length; i < COUNT; i++, rest = Math.floor(rest / 256)) {
    result[list.head.start - COUNT + i] = rest % 256;
  }
  writeChecksum(result);
  return result;
}

interface ListHead {
  readonly range: number;
  /** Tells lists of other sizes, hashes and keys apart. */
  readonly headSum: number;
}

interface ReadList extends ListHead {
  readonly head: PlainFrame;
  readonly positions: Numbers;
}

function readListHead(frame: Uint8Array): ListHead {
  const { start, parameters } = readHead(HASH_LIST_FRAME, frame);
  return { range: parameters[0], headSum: wholeSum(frame.subarray(0, start - COUNT)) };
}

function readList(frame: Uint8Array): ReadList {
  const head = checkPlain(HASH_LIST_FRAME, frame);
  const [section] = sectionsOf(HASH_LIST_FRAME, head);
  const positions = valuesOf(head.payload, section)!;
  const unsound = firstUnsound(positions, section);
  if (unsound >= 0) {
    refuse('payload', head.start, `positions that rise below ${section.range}`, positions[unsound]);
  }
  return { ...readListHead(frame), head, positions };
}

function readUpdate(
  { range, headSum }: ListHead,
  update: Uint8Array,
  { maxPositions = MOST_POSITIONS }: ListUpdateOptions,
): ListChanges {
  checkNumber('maxPositions', maxPositions, 0, Number.POSITIVE_INFINITY);
  return decoding('update', () => {
    checkEnvelope(UPDATE_MAGIC, update, HEAD + 2 + CHECKSUM);
    checkChecksum(update);
    const theirs = viewOf(update).getUint32(LIST, true);
    if (theirs !== headSum) refuse('parameters', LIST, `an update of list ${headSum}`, theirs);
    const reader = new ByteReader(update.subarray(HEAD, -CHECKSUM), HEAD);
    const counts = ['present', 'absent'].map((what) => {
      const count = reader.number(`the number of ${what} positions`, range);
      // A position takes at least one bit.
      if (count > 8 * reader.left) reader.fail('truncated', `expected ${count} positions, got fewer bits`);
      return count;
    });
    const total = counts[0] + counts[1];
    if (total > maxPositions) {
      refuse('limit', HEAD, `at most ${maxPositions} positions (maxPositions)`, total);
    }
    const parameters = counts.map((count) => (count > 0 ? reader.number('a parameter', MAX_PARAMETER) : 1));
    if (parameters.includes(0)) reader.fail('payload', 'expected a parameter of at least 1, got 0');
    const gaps = new GapReader(reader.bytes(reader.left, 'positions'), reader.offset);
    const [present, absent] = counts.map((count, i) => {
      gaps.begin(parameters[i], range);
      return Float64Array.from({ length: count }, () => gaps.take());
    });
    gaps.finish();
    for (let i = 0, j = 0; i < present.length && j < absent.length; ) {
      if (present[i] === absent[j]) refuse('payload', HEAD, 'each position once', `${present[i]} twice`);
      if (present[i] < absent[j]) i++;
      else j++;
    }
    return { present, absent };
  });
}

function mergeChanges(old: Numbers, { present, absent }: ListChanges): Numbers {
  const merged = numbersOf(
    old.length + present.length,
    old instanceof Float64Array ? 53 : 8 * old.BYTES_PER_ELEMENT,
  );
  let [count, added, gone] = [0, 0, 0];
  for (let i = 0; i <= old.length; i++) {
    const position = i < old.length ? old[i] : Number.POSITIVE_INFINITY;
    for (; added < present.length && present[added] < position; added++) merged[count++] = present[added];
    if (added < present.length && present[added] === position) added++;
    while (gone < absent.length && absent[gone] < position) gone++;
    if (i < old.length && absent[gone] !== position) merged[count++] = position;
  }
  return merged.subarray(0, count);
}

function checkPositions(positions: Float64Array, range: number): void {
  let last = -1;
  for (const position of positions) {
    if (!Number.isSafeInteger(position) || position <= last || position >= range) {
      throw new RangeError(
        `Cannot make an update: expected positions that rise below ${range}, got ${position} after ${last}`,
      );
    }
    last = position;
  }
}

function firstUnsound(positions: Numbers, { range }: Section): number {
  for (let i = 0, last = -1; i < positions.length; last = positions[i++]) {
    if (positions[i] <= last || positions[i] >= range) return i;
  }
  return -1;
}

const MOST_POSITIONS = 2 ** 22;
/** Offset of the sum of the list's head. */
const LIST = 5;
/** The bytes before the counts. */
const HEAD = 9;
/** The bytes of the last parameter of a hash list, its number of positions. */
const COUNT = 5;
