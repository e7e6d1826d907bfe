/**
 * Arrays of small counters as bit codes, plane by plane: which counters are not 0; of those, which
 * are above 1; and so on until none is left. In a filter that is not overfull the counters follow a
 * Poisson distribution, and whether one is above j is independent from counter to counter. So
 * coding the planes one by one loses nothing against the entropy of the counters (compressed V).
 *
 *     for each plane: length of its code (LEB128), code (bit-code.ts)
 *
 * A plane has one bit for each one of the plane before. The last plane is the first without ones,
 * or the one that reaches the maximum of a counter.
 *
 * What it costs. Together the planes have as many bits as there are counters, and one more for each
 * count: about 1.7 per counter as planned, but 65,535 where counters of 16 bits are at their
 * maximum. A few bytes of untrusted input must not cause that much work. So planes of more than
 * `MOST_PLANE_BITS` for each bit of the counters are neither read nor written; such counters stay
 * in their plain form. Counters of 2 and 4 bits never get there, those of 8 bits at a mean count of
 * 31, those of 16 bits at 63. In addition to the counters, reading takes three bits of memory for
 * each of them, and writing 16 or more.
 */

import { countOnes } from '../../kernel/bits/bit-operations.ts';
import { counterAt } from '../../kernel/counters/counting.ts';
import { decodeBits } from './bit-code.ts';
import { ByteReader, ByteWriter } from './byte-stream.ts';
import { type Effort, encodeBits } from './encode-bits.ts';

/**
 * Codes counters. Returns null if the planes would not be smaller than the plain counters, or would
 * have too many bits.
 */
export function encodeCounters(
  counters: Uint32Array,
  count: number,
  counterBits: number,
  effort: Effort,
): Uint8Array | null {
  const writer = new ByteWriter();
  const most = 2 ** counterBits - 1;
  let planeBits = MOST_PLANE_BITS * counterBits * count;
  const plainBytes = Math.ceil((counterBits * count) / 8);
  let written = 0;
  let values = new Uint16Array(count);
  for (let i = 0; i < count; i++) values[i] = counterAt(counters, i, counterBits);
  for (let level = 0; level < most; level++) {
    planeBits -= values.length;
    if (planeBits < 0) return null;
    const plane = new Uint32Array(Math.ceil(values.length / 32));
    let above = 0;
    for (let i = 0; i < values.length; i++) {
      if (values[i] <= level) continue;
      plane[Math.floor(i / 32)] |= 1 << (i % 32); // there may be more than 2^32 of them
      values[above++] = values[i];
    }
    const code = encodeBits(plane, values.length, effort);
    writer.number(code.length);
    writer.bytes(code);
    written += 1 + code.length; // at least
    if (written >= plainBytes) return null;
    if (above === 0) break;
    values = values.slice(0, above);
  }
  const code = writer.finish();
  return code.length < plainBytes ? code : null;
}

export function decodeCounters(
  code: Uint8Array,
  count: number,
  counterBits: number,
  base: number,
): Uint32Array<ArrayBuffer> {
  const reader = new ByteReader(code, base);
  const counters = new Uint32Array(Math.ceil((count * counterBits) / 32));
  const perWord = 32 / counterBits;
  // Adds one. The counter has reached `level` so far, and stays within its maximum.
  const raise = (index: number) => {
    counters[Math.floor(index / perWord)] += 1 << ((index % perWord) * counterBits);
  };
  const most = 2 ** counterBits - 1;
  let planeBits = MOST_PLANE_BITS * counterBits * count;
  // The counters for which the last plane has a one: as bits, or as a list if they are few.
  let reached: Uint32Array | undefined;
  let listed: Float64Array | undefined;
  for (let level = 0, left = count; level < most && left > 0; level++) {
    planeBits -= left;
    if (planeBits < 0)
      reader.fail('payload', `expected planes of at most ${MOST_PLANE_BITS} times the counters`);
    const length = reader.number('the length of a plane', reader.left);
    const at = reader.offset;
    const plane = decodeBits(reader.bytes(length, 'a plane'), left, at);
    left = countOnes(plane);
    if (listed !== undefined) {
      const before: Float64Array = listed;
      listed = positionsOf(plane, left).map((place) => before[place]);
    } else {
      if (reached === undefined) reached = plane;
      else narrow(reached, plane);
      // From here on there are no more passes over all counters. The list takes no more memory than
      // the bits.
      if (left <= count / 64) listed = positionsOf(reached, left);
      else eachOne(reached, raise);
    }
    listed?.forEach(raise);
  }
  reader.end();
  return counters;
}

/** The most bits in the planes for each bit of the counters. */
const MOST_PLANE_BITS = 4;

/**
 * Clears the ones of `bits` for which `plane` has a zero. `plane` has one bit for each of them, in
 * order.
 */
function narrow(bits: Uint32Array, plane: Uint32Array): void {
  let place = 0;
  for (let i = 0; i < bits.length; i++) {
    let kept = bits[i];
    for (let word = kept; word !== 0; word &= word - 1, place++) {
      if (((plane[Math.floor(place / 32)] >>> (place % 32)) & 1) === 0) kept ^= word & -word;
    }
    bits[i] = kept;
  }
}

function positionsOf(bits: Uint32Array, ones: number): Float64Array {
  const positions = new Float64Array(ones);
  let found = 0;
  eachOne(bits, (position) => {
    positions[found++] = position;
  });
  return positions;
}

function eachOne(bits: Uint32Array, visit: (position: number) => void): void {
  for (let i = 0; i < bits.length; i++) {
    for (let word = bits[i]; word !== 0; word &= word - 1) visit(32 * i + 31 - Math.clz32(word & -word));
  }
}
