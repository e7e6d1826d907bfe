/**
 * A symbol on its way: the ids of which it is the XOR, and its bytes. A symbol of one id comes from
 * a holder of all blocks, or is passed on; one of several is recoded by a holder of some.
 *
 *     count (1 byte, 1 to 50) · ids (4 bytes each, little-endian) · bytes of a block
 */

import { DeliveryError } from '../delivery-error.ts';
import { MOST_RECODED } from '../math/recoding.ts';

export interface CodedSymbol {
  readonly ids: readonly number[];
  readonly payload: Uint8Array;
}

export function encodeSymbol({ ids, payload }: CodedSymbol): Uint8Array<ArrayBuffer> {
  checkIds(ids, (expected, got) => {
    throw new RangeError(`Cannot write a symbol: expected ${expected}, got ${got}`);
  });
  const encoded = new Uint8Array(1 + 4 * ids.length + payload.length);
  const view = new DataView(encoded.buffer);
  encoded[0] = ids.length;
  for (const [place, id] of ids.entries()) view.setUint32(1 + 4 * place, id, true);
  encoded.set(payload, 1 + 4 * ids.length);
  return encoded;
}

/** Reads a symbol with blocks of this size. Its payload is a view of `encoded`. */
export function decodeSymbol(encoded: Uint8Array, blockBytes: number): CodedSymbol {
  const refuse = (expected: string, got: unknown): never => {
    throw new DeliveryError('malformed', 'read a symbol', `expected ${expected}, got ${got}`);
  };
  if (!(encoded instanceof Uint8Array)) refuse('a Uint8Array', typeof encoded);
  if (encoded.length === 0) refuse('a number of ids', 'no bytes');
  const count = encoded[0];
  if (count < 1 || count > MOST_RECODED) refuse(`1 to ${MOST_RECODED} ids`, count);
  const length = 1 + 4 * count + blockBytes;
  if (encoded.length !== length) refuse(`${length} bytes`, encoded.length);
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.length);
  const ids = Array.from({ length: count }, (_, place) => view.getUint32(1 + 4 * place, true));
  checkIds(ids, refuse);
  return { ids, payload: encoded.subarray(1 + 4 * count) };
}

/** Calls `refuse` unless these are 1 to 50 different ids. */
export function checkIds(ids: readonly number[], refuse: (expected: string, got: unknown) => void): void {
  if (ids.length < 1 || ids.length > MOST_RECODED) refuse(`1 to ${MOST_RECODED} ids`, ids.length);
  for (const id of ids) if (id >>> 0 !== id) refuse('ids below 2^32', id);
  if (new Set(ids).size !== ids.length) refuse('different ids', 'one of them twice');
}
