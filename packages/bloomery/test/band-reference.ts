/**
 * Rows and answers of a band in BigInt, straight from the definition in kernel/tables/band.ts.
 */

export interface ReferenceBand {
  readonly columns: number;
  readonly attempt: number;
  readonly width: number;
}

/** XOR of the columns that a hash selects and of its fingerprint; `bytes` are those of a frame. */
export function referenceBandAnswer(band: ReferenceBand, bytes: Uint8Array, hash: bigint): number {
  const { columns, attempt, width } = band;
  let z = u64((hash ^ u64(BigInt(attempt + 1) * 0x9e3779b97f4a7c15n)) * 0xbf58476d1ce4e5b9n);
  z = u64((z ^ (z >> 32n)) * 0x94d049bb133111ebn);
  const low = u32(z);
  const high = z >> 32n;
  const window = Math.min(64, columns);
  const drawn = Number((high * BigInt(columns - window + 65)) >> 32n) - 32;
  const start = Math.min(columns - window, Math.max(0, drawn));
  const row = mix(u32(low + high * 0x85ebca6bn)) | (mix(u32(low + high * 0xc2b2ae35n)) << 32n);
  let y = u32(low + high * 0x9e3779b1n);
  y = u32((y ^ (y >> 16n)) * 0x7feb352dn);
  y = u32((y ^ (y >> 15n)) * 0x846ca68bn);
  let answer = Number(y >> BigInt(32 - width));
  for (let j = 0; j < width; j++) {
    for (let i = 0; i < window; i++) {
      const bit = j * columns + start + i;
      const chosen = Number((row >> BigInt(i)) & 1n) & (bytes[bit >> 3] >> (bit & 7));
      answer = (answer ^ ((chosen & 1) << j)) >>> 0;
    }
  }
  return answer;
}

function mix(x: bigint): bigint {
  let y = u32((x ^ (x >> 16n)) * 0x7feb352dn);
  y = u32((y ^ (y >> 15n)) * 0x846ca68bn);
  return y ^ (y >> 16n);
}

const u32 = (x: bigint): bigint => x & 0xffffffffn;
const u64 = (x: bigint): bigint => x & 0xffffffffffffffffn;
