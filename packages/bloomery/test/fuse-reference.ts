/**
 * Slots and answers of a binary fuse table in BigInt, straight from the definition in
 * kernel/tables/fuse.ts.
 */

export interface ReferenceTable {
  readonly segments: number;
  readonly segmentLength: number;
  readonly attempt: number;
  readonly stride: number;
  readonly width: number;
}

/** The four slots and the fingerprint of a hash. */
export function referenceSlots(
  table: ReferenceTable,
  hash: bigint,
): { slots: number[]; fingerprint: number } {
  const t = BigInt(table.attempt);
  const length = BigInt(table.segmentLength);
  let z = u64((hash ^ u64((t + 1n) * 0x9e3779b97f4a7c15n)) * 0xbf58476d1ce4e5b9n);
  z = u64((z ^ (z >> 32n)) * 0x94d049bb133111ebn);
  const product = u32((hash >> 32n) + t * u32(z)) * BigInt(table.segments);
  const segment = product >> 32n;
  const slots = [Number(segment * length + ((u32(product) * length) >> 32n))];
  for (const [i, shift] of [43n, 22n, 1n].entries()) {
    const piece = (z >> shift) & 0x1fffffn;
    slots.push(Number((segment + BigInt(i) + 1n) * length + ((piece * length) >> 21n)));
  }
  let y = u32(u32(z) + (z >> 32n) * 0x9e3779b1n);
  y = u32((y ^ (y >> 16n)) * 0x7feb352dn);
  y = u32((y ^ (y >> 15n)) * 0x846ca68bn);
  return { slots, fingerprint: Number(y >> BigInt(32 - table.width)) };
}

/** XOR of the slots and the fingerprint of a hash; `bytes` are the slots as they are in a frame. */
export function referenceAnswer(table: ReferenceTable, bytes: Uint8Array, hash: bigint): number {
  const { slots, fingerprint } = referenceSlots(table, hash);
  const fields = slots.map((slot) => referenceField(bytes, slot * table.stride, table.width));
  return Number(fields.reduce((sum, field) => sum ^ BigInt(field), BigInt(fingerprint)));
}

/** `width` bits from bit `at` on. */
export function referenceField(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = 0; i < width; i++) value += ((bytes[(at + i) >> 3] >> ((at + i) & 7)) & 1) * 2 ** i;
  return value;
}

const u32 = (x: bigint): bigint => x & 0xffffffffn;
const u64 = (x: bigint): bigint => x & 0xffffffffffffffffn;
