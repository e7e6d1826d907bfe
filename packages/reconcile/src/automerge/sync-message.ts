/**
 * The head of a sync message of Automerge, up to the changes that it carries:
 *
 *     byte    0x42 or 0x43, the two versions of the message
 *     hashes  heads of the sender's document: a varint, and 32 bytes each
 *     hashes  need: changes that the sender asks for
 *     varint  number of filters, usually one. Each is
 *             hashes: the common heads since which it covers changes
 *             varint: its bytes, and the bytes (sync-filter.ts)
 *
 * The changes behind it are compressed columns that only Automerge reads. So a relay can see which
 * of its changes a client certainly lacks, without a document in memory.
 */

import { refuse } from '../reconcile-error.ts';
import { ByteReader } from '../wire/byte-reader.ts';
import { AutomergeSyncFilter } from './sync-filter.ts';

export interface AutomergeSyncMessage {
  /** Hashes of the changes that no other change of the sender builds on. */
  readonly heads: readonly Uint8Array[];
  /** Hashes of changes that the sender asks for. */
  readonly need: readonly Uint8Array[];
  readonly have: readonly AutomergeHave[];
  /** The bytes that follow: changes, and what later versions add. */
  readonly rest: Uint8Array;
}

export interface AutomergeHave {
  /** Heads that both sides had after their last exchange. */
  readonly lastSync: readonly Uint8Array[];
  /** The changes that the sender has since then. */
  readonly filter: AutomergeSyncFilter;
}

const WHERE = 'Automerge sync message';
/** Automerge sends one filter. An entry takes two bytes, so the objects need a limit. */
const MOST_FILTERS = 256;

/** Reads a sync message. Throws a `ReconcileError` if the bytes are none. */
export function readAutomergeSync(message: Uint8Array): AutomergeSyncMessage {
  const reader = new ByteReader(message, WHERE);
  const type = reader.byte();
  if (type !== 0x42 && type !== 0x43) refuse('0x42 or 0x43', `0x${type.toString(16)}`, WHERE);
  const heads = readHashes(reader);
  const need = readHashes(reader);
  const have: AutomergeHave[] = [];
  for (let count = reader.varint(MOST_FILTERS); count > 0; count--) {
    const lastSync = readHashes(reader);
    have.push({ lastSync, filter: AutomergeSyncFilter.decode(reader.take(reader.varint())) });
  }
  return { heads, need, have, rest: reader.rest() };
}

function readHashes(reader: ByteReader): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let count = reader.varint(); count > 0; count--) hashes.push(reader.take(32));
  return hashes;
}
