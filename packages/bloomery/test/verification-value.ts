/**
 * SMHasher's verification value: 32 bits that bind an implementation to a hash. It hashes the keys
 * (), (0), (0, 1), … up to 255 bytes with the seeds 256, 255, …, writes the hashes end to end as
 * little-endian numbers, and hashes these 2048 bytes with seed 0. The lower 32 bits are the value
 * (SMHasher3, util/VCode.cpp).
 */
export function verificationValue(hash: (bytes: Uint8Array, seed: number) => bigint): number {
  const hashes = new Uint8Array(256 * 8);
  const view = new DataView(hashes.buffer);
  for (let i = 0; i < 256; i++) {
    const key = Uint8Array.from({ length: i }, (_, j) => j);
    view.setBigUint64(8 * i, hash(key, 256 - i), true);
  }
  return Number(hash(hashes, 0) & 0xffffffffn);
}
