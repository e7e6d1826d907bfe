/**
 * Arrays of numbers whose sizes differ as bit codes: counters of sketches, gaps between positions,
 * changes of counters. docs/spec/wire.md specifies the bytes.
 *
 *     lengths   for j = 0, 1, …: which of the numbers of at least j binary digits have more than j
 *     digits    for each length from 2 on, a tree: which of the numbers have a 1 as next digit;
 *               then the same for those with a 0 and for those with a 1
 *     raw       the digits below the nodes where the tree was cut
 *
 * Every plane and every node is an array of bits that is coded by its own density (bit-code.ts).
 * The entropy of a number is the sum of the entropies of these decisions, so a tree that is
 * complete loses nothing against the entropy of the numbers. Each node costs two to five bytes
 * beyond that. The writer therefore cuts the tree where the lower digits are close to random: it
 * compares the estimated size of a node and its subtrees with one bit per digit.
 *
 * Why not unary planes as for counting filters (counter-planes.ts). They take a step per unit,
 * which is right for counters of mean 0.7 and impossible for those of a sketch that has counted a
 * million. Here a number of d digits takes at most 2d steps, whatever untrusted input declares. We
 * refused an adaptive model with one stream: it would save the bytes of the nodes, and needs
 * another loop in both kernels.
 *
 * What it costs, measured on Poisson, geometric and heavy-tailed numbers against the entropy of the
 * same array: 0.1 to 0.2 % at a million numbers, 1 to 2.5 % at 20,000, 7 to 30 % at 1000 (where the
 * array itself hardly shows its distribution). Coding takes 0.04 to 1 µs per number, decoding half
 * of it. Reading takes 4 bytes of memory per number that is not 0, in addition to the numbers.
 * Writing takes, for each level of the tree down to the node that is being visited, about as much
 * memory as the numbers.
 */

import { onesIn } from '../../kernel/coders/coders.ts';
import { binaryEntropy } from '../../math/entropy.ts';
import { getField, putField } from './bit-fields.ts';
import type { ByteReader, ByteWriter } from './byte-stream.ts';
import type { Effort } from './encode-bits.ts';
import { needSizedBits, readSizedBits, writeSizedBits } from './sized-bits.ts';

/** Integers from 0 to 2^53 - 1. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** The most binary digits of a number: integers above 2^53 - 1 are not exact. */
export const MOST_DIGITS = 53;

/** An array of zeros for numbers of up to `digits` binary digits. */
export function numbersOf(count: number, digits: number): Numbers {
  if (digits <= 8) return new Uint8Array(count);
  if (digits <= 16) return new Uint16Array(count);
  return digits <= 32 ? new Uint32Array(count) : new Float64Array(count);
}

/** The number of binary digits: 0 for 0, 1 for 1, 2 for 2 and 3. */
export function digitsOf(value: number): number {
  const high = Math.floor(value / TWO32);
  return high === 0 ? 32 - Math.clz32(value) : 64 - Math.clz32(high);
}

/** Writes numbers of up to `digits` binary digits. */
export function writeNumbers(writer: ByteWriter, values: Numbers, digits: number, effort: Effort): void {
  const trees: Node[] = [];
  let rest = values;
  for (let length = 0; length < digits && rest.length > 0; length++) {
    const plane = bitsWhere(rest, (value) => digitsOf(value) > length);
    writeSizedBits(writer, plane, rest.length, effort);
    const [ended, longer] = split(rest, plane);
    if (length > 1) trees.push(planNode(ended, length - 1));
    rest = longer;
  }
  if (rest.length > 0 && digits > 1) trees.push(planNode(rest, digits - 1));
  let rawBits = 0;
  for (const tree of trees) rawBits += writeNode(writer, tree, effort);
  const raw = new Uint8Array(Math.ceil(rawBits / 8));
  let at = 0;
  for (const tree of trees) {
    eachRaw(tree, (value, count) => {
      putField(raw, at, count, value);
      at += count;
    });
  }
  writer.bytes(raw);
}

/** Reads `count` numbers of up to `digits` binary digits. */
export function readNumbers(reader: ByteReader, count: number, digits: number): Numbers {
  const values = numbersOf(count, digits);
  const groups = readLengths(reader, count, digits);
  const raws: Group[] = [];
  for (const { places, left } of groups) {
    for (const place of places) values[place] = 1;
    if (left > 0) readNode(reader, values, { places, left }, raws);
  }
  const rawBits = raws.reduce((sum, { places, left }) => sum + places.length * left, 0);
  const raw = reader.bytes(Math.ceil(rawBits / 8), 'raw digits');
  if (rawBits % 8 !== 0 && raw[raw.length - 1] >>> (rawBits % 8) !== 0) {
    reader.fail('payload', `expected zeros beyond the last of ${rawBits} raw digits`);
  }
  let at = 0;
  for (const { places, left } of raws) {
    for (const place of places) {
      values[place] = values[place] * 2 ** left + getField(raw, at, left);
      at += left;
    }
  }
  return values;
}

const TWO32 = 2 ** 32;

/** A node of a tree: numbers of which all digits above the lowest `left` are known. */
interface Node {
  readonly count: number;
  readonly left: number;
  /** The estimated size of the node and its subtrees. */
  readonly costBits: number;
  /** The next digits; absent where the tree is cut. */
  readonly bits?: Uint32Array;
  readonly children?: readonly [Node, Node];
  /** The numbers; only where the tree is cut. */
  readonly values?: Numbers;
}

function planNode(values: Numbers, left: number): Node {
  const count = values.length;
  const cut: Node = { count, left, values, costBits: count * left + 8 };
  if (count * left <= LEAST_GAIN) return { ...cut, costBits: count === 0 ? 0 : cut.costBits };
  const half = 2 ** (left - 1);
  const bits = bitsWhere(values, (value) => Math.floor(value / half) % 2 === 1);
  const [zeros, ones] = split(values, bits);
  const own = estimatedBits(count, ones.length);
  if (left === 1) return own < cut.costBits ? { count, left, bits, costBits: own } : cut;
  const children = [planNode(zeros, left - 1), planNode(ones, left - 1)] as const;
  const costBits = own + children[0].costBits + children[1].costBits;
  return costBits < cut.costBits ? { count, left, bits, children, costBits } : cut;
}

/** Nodes with this many digits or fewer are not worth the bytes of a code. */
const LEAST_GAIN = 24;

function estimatedBits(count: number, ones: number): number {
  if (ones === 0 || ones === count) return 16;
  return Math.min(count + 16, count * binaryEntropy(ones / count) + (count < 256 ? 32 : 48));
}

/** Writes the codes of a tree. Returns the number of digits that are left for the raw part. */
function writeNode(writer: ByteWriter, node: Node, effort: Effort): number {
  if (node.count === 0 || node.left === 0) return 0;
  if (node.bits === undefined) {
    writer.number(0);
    return node.count * node.left;
  }
  writeSizedBits(writer, node.bits, node.count, effort);
  return (node.children ?? []).reduce((sum, child) => sum + writeNode(writer, child, effort), 0);
}

function eachRaw(node: Node, put: (value: number, digits: number) => void): void {
  for (const value of node.values ?? []) put(value % 2 ** node.left, node.left);
  for (const child of node.children ?? []) eachRaw(child, put);
}

/** Numbers by their places in the array, with `left` digits that are not known yet. */
interface Group {
  readonly places: Uint32Array;
  readonly left: number;
}

/** Reads the lengths. Returns the numbers of each length from 1 on. */
function readLengths(reader: ByteReader, count: number, digits: number): Group[] {
  const groups: Group[] = [];
  let places: Uint32Array | undefined;
  for (let length = 0; length < digits && (places?.length ?? count) > 0; length++) {
    const plane = needSizedBits(reader, places?.length ?? count, 'lengths');
    const [ended, longer] = places === undefined ? [undefined, placesIn(plane)] : split(places, plane);
    if (ended !== undefined && ended.length > 0) groups.push({ places: ended, left: length - 1 });
    places = longer;
  }
  if (places !== undefined && places.length > 0) groups.push({ places, left: digits - 1 });
  return groups;
}

function readNode(reader: ByteReader, values: Numbers, { places, left }: Group, raws: Group[]): void {
  if (places.length === 0 || left === 0) return;
  const bits = readSizedBits(reader, places.length, 'digits');
  if (bits === null) {
    raws.push({ places, left });
    return;
  }
  const [zeros, ones] = split(places, bits);
  for (const place of zeros) values[place] *= 2;
  for (const place of ones) values[place] = 2 * values[place] + 1;
  readNode(reader, values, { places: zeros, left: left - 1 }, raws);
  readNode(reader, values, { places: ones, left: left - 1 }, raws);
}

/** One bit per element. */
export function bitsWhere(values: Numbers, isSet: (value: number) => boolean): Uint32Array {
  const bits = new Uint32Array(Math.ceil(values.length / 32));
  for (let i = 0; i < values.length; i++) if (isSet(values[i])) bits[i >>> 5] |= 1 << (i & 31);
  return bits;
}

/** Splits an array into the elements whose bit is 0 and those whose bit is 1. */
export function split<A extends Numbers>(values: A, bits: Uint32Array): [A, A] {
  const ones = onesIn(bits);
  const sides = [values.slice(0, values.length - ones), values.slice(0, ones)] as [A, A];
  const used = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const side = (bits[i >>> 5] >>> (i & 31)) & 1;
    sides[side][used[side]++] = values[i];
  }
  return sides;
}

function placesIn(bits: Uint32Array): Uint32Array {
  const places = new Uint32Array(onesIn(bits));
  let found = 0;
  for (let i = 0; i < bits.length; i++) {
    for (let word = bits[i]; word !== 0; word &= word - 1) {
      places[found++] = 32 * i + 31 - Math.clz32(word & -word);
    }
  }
  return places;
}
