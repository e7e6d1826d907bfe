/**
 * The bytes of an intersection (docs/spec/private-intersection.md). Every length follows from the
 * two counts of the hellos, so no message has a length of its own, and lengths tell nothing else.
 */

import { IntersectionError, refuse } from './intersection-error.ts';

/** The result that both sides learn: the common keys, or only how many there are. */
export type Revealed = 'keys' | 'count';

export type Role = 'initiator' | 'responder';

export interface Hello {
  readonly role: Role;
  readonly reveals: Revealed;
  /** The number of points that follow, dummies included. */
  readonly count: number;
}

export const HELLO_BYTES = 10;
/** The largest set that the protocol can tell of. */
export const MOST_KEYS = 2 ** 24;

const MAGIC = Uint8Array.of(0x42, 0x50, 0x53, 0x49); // BPSI
const VERSION = 1;

export function encodeHello({ role, reveals, count }: Hello): Uint8Array {
  const bytes = new Uint8Array(HELLO_BYTES);
  bytes.set(MAGIC);
  bytes[4] = VERSION;
  bytes[5] = (role === 'responder' ? 1 : 0) | (reveals === 'count' ? 2 : 0);
  new DataView(bytes.buffer).setUint32(6, count, true);
  return bytes;
}

/** Reads the hello of the peer, and checks it against what this side is and allows. */
export function decodeHello(
  bytes: Uint8Array,
  own: Pick<Hello, 'role' | 'reveals'>,
  maxPeerKeys: number,
): Hello {
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) refuse('BPSI', 'other bytes', 'offset 0');
  if (bytes[4] !== VERSION) {
    throw new IntersectionError('version', `expected version ${VERSION}, got ${bytes[4]} (offset 4)`);
  }
  if (bytes[5] > 3) refuse('a kind from 0 to 3', bytes[5], 'offset 5');
  const role = bytes[5] & 1 ? 'responder' : 'initiator';
  const reveals = bytes[5] & 2 ? 'count' : 'keys';
  if (role === own.role) throw new IntersectionError('mismatch', `expected one ${role}, got two`);
  if (reveals !== own.reveals) {
    throw new IntersectionError(
      'mismatch',
      `expected a peer that reveals ${describe(own.reveals)}, got one that reveals ${describe(reveals)}`,
    );
  }
  const count = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(6, true);
  if (count > Math.min(maxPeerKeys, MOST_KEYS)) {
    throw new IntersectionError('limit', `expected at most ${maxPeerKeys} keys, got ${count} (offset 6)`);
  }
  return { role, reveals, count };
}

function describe(reveals: Revealed): string {
  return reveals === 'keys' ? 'the common keys' : 'their number alone';
}

/**
 * Bytes of a tag, so that any two different elements of the two sets have equal tags with a
 * probability of at most 2^-40 in the whole session: 40 bits, and the bits of each count.
 */
export function tagBytes(countA: number, countB: number): number {
  return Math.ceil((40 + ceilLog2(countA) + ceilLog2(countB)) / 8);
}

function ceilLog2(count: number): number {
  return count <= 1 ? 0 : 32 - Math.clz32(count - 1);
}

/** Bytes of the answer: one bit for each point of the responder, or the number of common keys. */
export function answerBytes(reveals: Revealed, responderCount: number): number {
  return reveals === 'keys' ? Math.ceil(responderCount / 8) : 4;
}
