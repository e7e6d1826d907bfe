/**
 * Rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
 * 1998): each member gets a score from its id and the key, and the members are ranked by score. All
 * nodes with the same list of members agree without talking. If a member leaves, only its keys
 * move, each to the next one in its order. A ring with virtual nodes would do the same with a table
 * to build and unequal shares.
 *
 * The score is a permutation of 64 bits (a Feistel network of four rounds, with the finaliser of
 * MurmurHash3 as round function) of key hash XOR id hash, so two members never tie unless their ids
 * have the same hash. Then the smaller id comes first. The arithmetic has 32 bits, because BigInt
 * is many times as slow. One order takes 3 µs for 16 members and 120 µs for 256, on a shared
 * machine; it is asked for once per miss that no neighbour can serve.
 */

import { hashKey, type KeyHash } from 'bloomery';

/** The 64 bits of a key's hash, by whatever scheme. */
export type RendezvousKey = Pick<KeyHash, 'low' | 'high'>;

interface Ranked {
  readonly id: string;
  readonly high: number;
  readonly low: number;
}

/** The members by rank for a key, the owner first. The order of `memberIds` does not matter. */
export function rendezvousOrder(key: RendezvousKey, memberIds: readonly string[]): string[] {
  return memberIds
    .map((id) => rank(key, id))
    .sort((a, b) => b.high - a.high || b.low - a.low || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
}

const ROUND_CONSTANTS = [0x9e3779b9, 0x3c6ef372, 0xdaa66d2b, 0x78dde6e4];

function rank(key: RendezvousKey, id: string): Ranked {
  const hash = hashKey(id);
  let left = (key.high ^ hash.high) | 0;
  let right = (key.low ^ hash.low) | 0;
  for (const constant of ROUND_CONSTANTS) {
    const next = left ^ mix32((right + constant) | 0);
    left = right;
    right = next;
  }
  return { id, high: left >>> 0, low: right >>> 0 };
}

/** The finaliser of MurmurHash3 for 32 bits. */
function mix32(word: number): number {
  let x = word;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
