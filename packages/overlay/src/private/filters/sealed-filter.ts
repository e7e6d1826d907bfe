/**
 * A keyed filter on its way to a friend: with the time of its making, and sealed under the secret
 * of the pair, so that a third party can neither make one nor change one, and an old one does not
 * replace a newer one. docs/spec/sealed-filter.md has the bytes.
 *
 * The seal is needed because the frame of a filter is not authenticated: one with all bits set,
 * which knows everyone, is easily made by an attacker that has seen another frame under the key.
 * The seal is two SipHashes, 128 bits, and a party without the secret cannot compute it.
 */

import { BloomFilter, FrameError } from 'bloomery';
import { SharingError } from '../sharing-error.ts';
import { deriveKeyBytes } from './derived-key.ts';
import { sharedKey } from './keyed-filter.ts';

export interface SealOptions {
  readonly secret: Uint8Array;
  /** The sender of the filter: the same name as in `keyedFilter`. */
  readonly from: string;
}

export interface SealedFilter {
  readonly filter: BloomFilter;
  /** The time of its making, in seconds since 1970. */
  readonly issued: number;
}

/** Seals a filter that `keyedFilter` made with the same secret and sender. */
export function sealFilter(
  filter: BloomFilter,
  options: SealOptions & { readonly issued: number },
): Uint8Array<ArrayBuffer> {
  const { secret, from, issued } = options;
  if (!Number.isSafeInteger(issued) || issued < 0) {
    throw new RangeError(`Cannot seal a filter: expected whole seconds since 1970, got ${issued}`);
  }
  if (filter.scheme.id !== sharedKey(secret, from).scheme.id) {
    throw new RangeError(`Cannot seal a filter: expected one of the same secret and sender, got ${filter}`);
  }
  const frame = filter.encode();
  const sealed = new Uint8Array(HEAD + frame.length + SEAL);
  sealed.set(MAGIC);
  sealed[4] = VERSION;
  new DataView(sealed.buffer).setBigUint64(5, BigInt(issued), true);
  sealed.set(frame, HEAD);
  sealed.set(sealOf(sealed.subarray(0, -SEAL), options), HEAD + frame.length);
  return sealed;
}

/**
 * Opens a sealed filter. Throws a `SharingError` if it is none, if the seal is wrong, or if it has
 * more than `maxBytes` bytes (default 4 MiB), which is checked first.
 */
export function openSealed(
  bytes: Uint8Array,
  { maxBytes = 2 ** 22, ...options }: SealOptions & { readonly maxBytes?: number },
): SealedFilter {
  if (bytes.length > maxBytes) {
    throw new SharingError(
      'limit',
      `Cannot open a filter: expected at most ${maxBytes} bytes, got ${bytes.length}`,
    );
  }
  if (bytes.length < HEAD + SEAL || MAGIC.some((byte, i) => bytes[i] !== byte)) {
    throw new SharingError(
      'malformed',
      'Cannot open a filter: expected a sealed filter, got other bytes (offset 0)',
    );
  }
  if (bytes[4] !== VERSION) {
    throw new SharingError(
      'version',
      `Cannot open a filter: expected version ${VERSION}, got ${bytes[4]} (offset 4)`,
    );
  }
  const expected = sealOf(bytes.subarray(0, -SEAL), options);
  const given = bytes.subarray(-SEAL);
  // All bytes are compared, so that the time does not tell how many are right.
  if (expected.reduce((difference, byte, i) => difference | (byte ^ given[i]), 0) !== 0) {
    throw new SharingError(
      'forged',
      `Cannot open a filter: expected the seal of ${options.from}, got another one`,
    );
  }
  const issued = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(5, true));
  try {
    const filter = BloomFilter.decode(bytes.subarray(HEAD, -SEAL), {
      key: sharedKey(options.secret, options.from),
    });
    return { filter, issued };
  } catch (error) {
    // The sender sealed something else than its filter.
    if (error instanceof FrameError) throw new SharingError('malformed', error.message);
    throw error;
  }
}

function sealOf(bytes: Uint8Array, { secret, from }: SealOptions): Uint8Array {
  const key = deriveKeyBytes(secret, `bloomery sealed filter 1 from ${from}`);
  return deriveKeyBytes(key, bytes);
}

const MAGIC = Uint8Array.of(0x42, 0x4c, 0x53, 0x46); // BLSF
const VERSION = 1;
const HEAD = 13;
const SEAL = 16;
