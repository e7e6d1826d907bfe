/**
 * The slow and obvious versions of what the kernels do, straight from the specifications in BigInt,
 * for tests to compare with. They share no code with the kernels.
 */

const MASK = (1n << 64n) - 1n;
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;

const u64 = (x: bigint): bigint => x & MASK;
const rotl = (x: bigint, r: bigint): bigint => u64((x << r) | (x >> (64n - r)));
const round = (acc: bigint, lane: bigint): bigint => u64(rotl(u64(acc + lane * P2), 31n) * P1);

export function referenceXxh64(bytes: Uint8Array, seed: bigint): bigint {
  const read = (at: number, length: number): bigint => {
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[at + i]);
    return value;
  };
  let at = 0;
  let h: bigint;
  if (bytes.length >= 32) {
    const lanes = [u64(seed + P1 + P2), u64(seed + P2), seed, u64(seed - P1)];
    for (; at + 32 <= bytes.length; at += 32) {
      for (let i = 0; i < 4; i++) lanes[i] = round(lanes[i], read(at + 8 * i, 8));
    }
    h = u64(rotl(lanes[0], 1n) + rotl(lanes[1], 7n) + rotl(lanes[2], 12n) + rotl(lanes[3], 18n));
    for (const lane of lanes) h = u64((h ^ round(0n, lane)) * P1 + P4);
  } else {
    h = u64(seed + P5);
  }
  h = u64(h + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) h = u64(rotl(h ^ round(0n, read(at, 8)), 27n) * P1 + P4);
  if (at + 4 <= bytes.length) {
    h = u64(rotl(h ^ u64(read(at, 4) * P1), 23n) * P2 + P3);
    at += 4;
  }
  for (; at < bytes.length; at++) h = u64(rotl(h ^ u64(BigInt(bytes[at]) * P5), 11n) * P1);
  h ^= h >> 33n;
  h = u64(h * P2);
  h ^= h >> 29n;
  h = u64(h * P3);
  return h ^ (h >> 32n);
}

/** Forge64, from the definition at the top of hashing/forge64.ts. */
export function referenceForge64(bytes: Uint8Array, seed: bigint): bigint {
  const K3 = 0xd6e8feb86659fd93n;
  let a = seed ^ 0x9e3779b97f4a7c15n;
  let b = rotl(seed, 32n) ^ u64(BigInt(bytes.length) * K3);
  for (let at = 0; at === 0 || at < bytes.length; at += 16) {
    const word = (from: number): bigint => {
      let value = 0n;
      for (let i = 7; i >= 0; i--) value = (value << 8n) | BigInt(bytes[from + i] ?? 0);
      return value;
    };
    const w1 = word(at + 8);
    const u = word(at) ^ rotl(w1, 32n);
    a = u64((a ^ u) * 0xbf58476d1ce4e5b9n);
    b = u64((b ^ w1 ^ rotl(u, 21n)) * 0x94d049bb133111ebn);
    a ^= a >> 32n;
    b ^= b >> 32n;
    a = u64(a + rotl(b, 17n));
    b ^= rotl(a, 41n);
  }
  let h = a ^ seed ^ u64(b * K3);
  h = u64((h ^ (h >> 32n)) * 0xff51afd7ed558ccdn);
  h = u64((h ^ (h >> 29n)) * 0xc4ceb9fe1a85ec53n);
  return h ^ (h >> 32n);
}

const u32 = (x: bigint): bigint => x & 0xffffffffn;

/** Index i of a hash in a range, by the definition in kernel/bits/classic.ts. */
export function referenceIndex(hash: bigint, i: number, range: number): number {
  const a = u32(hash);
  const b = hash >> 32n;
  let x = u32(a + BigInt(i) * b);
  x = u32((x ^ (x >> 16n)) * 0x7feb352dn);
  x = u32((x ^ (x >> 15n)) * 0x846ca68bn);
  const y = u32(b + 2n * BigInt(i) * a) >> 16n;
  return Number((((x << 16n) | y) * BigInt(range)) >> 48n);
}

/**
 * The bits that a hash sets in a blocked filter, as positions in the whole array
 * (kernel/bits/blocked.ts).
 */
export function referenceBlockedBits(hash: bigint, blocks: number, k: number): number[] {
  const block = Number(((hash >> 32n) * BigInt(blocks)) >> 32n);
  const positions: number[] = [];
  let v = hash;
  while (positions.length < k) {
    v = u64((v ^ (v >> 32n)) * 0x9e3779b97f4a7c15n);
    for (const shift of [55n, 46n, 37n, 23n, 14n, 5n]) {
      if (positions.length < k) positions.push(block * 512 + Number((v >> shift) & 511n));
    }
  }
  return positions;
}

/** The same for a split block, from Parquet's specification. */
export function referenceSplitBits(hash: bigint, blocks: number): number[] {
  const salt = [
    0x47b6137bn,
    0x44974d91n,
    0x8824ad5bn,
    0xa2b7289dn,
    0x705495c7n,
    0x2df1424bn,
    0x9efc4947n,
    0x5c6bfb31n,
  ];
  const block = Number(((hash >> 32n) * BigInt(blocks)) >> 32n);
  return salt.map((s, i) => block * 256 + i * 32 + Number(u32(u32(hash) * s) >> 27n));
}
