/**
 * Arrays of small counters as bit codes, plane by plane: which counters are not 0; of those, which are above 1; and so
 * on until none is left. A counter of a filter that is not overfull is Poisson, and what is above j is independent from
 * counter to counter, so coding the planes one by one loses nothing against the entropy of the counters (compressed V).
 *
 *     for each plane: length of its code (LEB128), code (bit-code.ts)
 *
 * A plane has a bit for each counter that the plane before has a one for; the last is the first without ones, or the one
 * that reaches the maximum of a counter.
 */

import { countOnes } from '../kernel/bit-operations.ts';
import { counterAt } from '../kernel/counting.ts';
import { decodeBits } from './bit-code.ts';
import { ByteReader, ByteWriter } from './byte-stream.ts';
import { type Effort, encodeBits } from './encode-bits.ts';

export function encodeCounters(
  counters: Uint32Array,
  count: number,
  counterBits: number,
  effort: Effort,
): Uint8Array {
  const writer = new ByteWriter();
  const most = 2 ** counterBits - 1;
  let values = new Uint16Array(count);
  for (let i = 0; i < count; i++) values[i] = counterAt(counters, i, counterBits);
  for (let level = 0; level < most; level++) {
    const plane = new Uint32Array(Math.ceil(values.length / 32));
    let above = 0;
    for (let i = 0; i < values.length; i++) {
      if (values[i] <= level) continue;
      plane[i >>> 5] |= 1 << (i & 31);
      values[above++] = values[i];
    }
    const code = encodeBits(plane, values.length, effort);
    writer.number(code.length);
    writer.bytes(code);
    if (above === 0) break;
    values = values.slice(0, above);
  }
  return writer.finish();
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
  const most = 2 ** counterBits - 1;
  let indices: Uint32Array | null = null; // of the counters in this plane; all of them in the first
  for (let level = 0, left = count; level < most && left > 0; level++) {
    const length = reader.number('the length of a plane', reader.left);
    const at = reader.offset;
    const plane = decodeBits(reader.bytes(length, 'a plane'), left, at);
    const above: Uint32Array = new Uint32Array(countOnes(plane));
    let found = 0;
    for (let i = 0; i < plane.length; i++) {
      for (let word = plane[i]; word !== 0; word &= word - 1) {
        const place = 32 * i + 31 - Math.clz32(word & -word);
        const index = indices === null ? place : indices[place];
        above[found++] = index;
        // One more: the counter has reached `level` so far, and stays below its maximum.
        counters[Math.floor(index / perWord)] += 1 << ((index % perWord) * counterBits);
      }
    }
    indices = above;
    left = found;
  }
  reader.end();
  return counters;
}
