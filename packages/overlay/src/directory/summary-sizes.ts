/**
 * The universes of a folder's two sets of positions. A set of n positions in a universe U answers
 * "maybe" to n/U of the keys that it lacks, and is coded in about log2(U/n) + 1.44 bits each.
 *
 * Keys get 1 %. Objects get 8 or 16 bits each, the two sizes of the survey's example (section 5.1,
 * Broder and Mitzenmacher): 8 bits ask one peer in 90 in vain, 16 bits one in 24,000.
 */

/** Bits that a position of an object takes in a message. */
export type ObjectBits = 8 | 16;

const KEYS_SPREAD = 100;
const OBJECTS_SPREAD: Record<ObjectBits, number> = { 8: 90, 16: 24_000 };
/** A universe below this one would be resized at every file. */
const LEAST = 1024;

/** The universe for a set of this many keys, or the present one if that is near enough. */
export function keysUniverse(size: number, present: number): number {
  return universeFor(size, present, KEYS_SPREAD);
}

export function objectsUniverse(size: number, present: number, bits: ObjectBits): number {
  return universeFor(size, present, OBJECTS_SPREAD[bits]);
}

/**
 * A universe changes when its set has grown by half or shrunk to a quarter. It is made for a set a
 * fifth larger than now, because a change costs a full state.
 */
function universeFor(size: number, present: number, spread: number): number {
  const wanted = Math.max(LEAST, size) * spread;
  if (present > 0 && wanted <= 1.5 * present && wanted * 4 >= present) return present;
  return wanted;
}

/** The most documents that a folder may claim if its set of objects has this many positions. */
export function mostDocuments(positions: number): number {
  // Several objects share a position in less than 2 % of the cases; the rest is for tiny sets.
  return Math.ceil(positions * 1.05) + 32;
}
