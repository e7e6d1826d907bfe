/**
 * The bytes of every message of the adapter, whatever its subject:
 *
 *     version u8 | kind u8 | key id u32 | time u48 | life 9 bytes | serial u48 | number u48
 *     | piece u16 | pieces u16 | length u32 | id length u8 | id | payload | mac 16 bytes
 *
 * Integers are little-endian. `serial` counts the envelopes of one life of the sender, so life and
 * serial together are a nonce. `number` counts the messages of one topic, or the requests of one
 * node. A message that does not fit into the server's `max_payload` travels as several envelopes
 * with the same number: `piece` of `pieces`, and `length` is that of the whole message.
 *
 * We decided against refusing messages above `max_payload`. Its default is 1 MB, a summary of a
 * million objects has 0.96 to 1.3 MB, and an operator who shares a NATS server often cannot change
 * it.
 *
 * The reader is for untrusted input: it looks at the mac first (`sealed-envelopes.ts`), and uses no
 * declared size for an allocation.
 */

import { isNodeId } from '../http/signature.ts';
import { MAX_MESSAGE_BYTES } from '../transport.ts';

export const VERSION = 1;

const KINDS = {
  /** A node is here: `presence.ts`. */
  presence: 0,
  /** A message on a topic. */
  message: 1,
  request: 2,
  answer: 3,
  /** A request was refused. The payload is the code of the error. */
  refusal: 4,
  /** The state of a topic, in the KV bucket of the fleet. */
  state: 5,
  /** A message on a topic that is too long to be sent here, and can be fetched by its number. */
  notice: 6,
} as const;

export type Kind = keyof typeof KINDS;

const NAMES = Object.keys(KINDS) as Kind[];

export interface Envelope {
  readonly kind: Kind;
  /** The id of the secret that signed it. */
  readonly keyId: number;
  /** Milliseconds since 1970 by the clock of the sender. */
  readonly timeMs: number;
  readonly node: string;
  readonly life: string;
  readonly serial: number;
  readonly number: number;
  readonly piece: number;
  readonly pieces: number;
  /** Bytes of the whole message. */
  readonly length: number;
  readonly payload: Uint8Array;
}

export const MAC_BYTES = 16;
const LIFE_BYTES = 9;
const FIXED_BYTES = 1 + 1 + 4 + 6 + LIFE_BYTES + 6 + 6 + 2 + 2 + 4 + 1;

/** Bytes of an envelope beside its payload. */
export function envelopeOverhead(node: string): number {
  return FIXED_BYTES + Buffer.byteLength(node) + MAC_BYTES;
}

/** The bytes of an envelope before its mac. */
export function encodeEnvelope(envelope: Envelope): Buffer {
  const id = Buffer.from(envelope.node);
  const bytes = Buffer.alloc(FIXED_BYTES + id.length + envelope.payload.length);
  let at = bytes.writeUInt8(VERSION, 0);
  at = bytes.writeUInt8(KINDS[envelope.kind], at);
  at = bytes.writeUInt32LE(envelope.keyId, at);
  at = bytes.writeUIntLE(envelope.timeMs, at, 6);
  at += Buffer.from(envelope.life, 'base64url').copy(bytes, at, 0, LIFE_BYTES);
  at = bytes.writeUIntLE(envelope.serial, at, 6);
  at = bytes.writeUIntLE(envelope.number, at, 6);
  at = bytes.writeUInt16LE(envelope.piece, at);
  at = bytes.writeUInt16LE(envelope.pieces, at);
  at = bytes.writeUInt32LE(envelope.length, at);
  at = bytes.writeUInt8(id.length, at);
  bytes.set(id, at);
  bytes.set(envelope.payload, at + id.length);
  return bytes;
}

/** Version and key id of an envelope, which say what its mac is made with. Null if it is none. */
export function peekEnvelope(bytes: Buffer): { readonly version: number; readonly keyId: number } | null {
  if (bytes.length < FIXED_BYTES + MAC_BYTES) return null;
  return { version: bytes[0], keyId: bytes.readUInt32LE(2) };
}

/** Reads an envelope without its mac. Null if it is none. The payload is a view of the bytes. */
export function decodeEnvelope(bytes: Buffer): Envelope | null {
  if (bytes.length < FIXED_BYTES || bytes[0] !== VERSION) return null;
  const kind = NAMES[bytes[1]];
  const idEnd = FIXED_BYTES + bytes[FIXED_BYTES - 1];
  if (kind === undefined || idEnd > bytes.length) return null;
  const node = bytes.toString('latin1', FIXED_BYTES, idEnd);
  const envelope: Envelope = {
    kind,
    keyId: bytes.readUInt32LE(2),
    timeMs: bytes.readUIntLE(6, 6),
    life: bytes.toString('base64url', 12, 12 + LIFE_BYTES),
    serial: bytes.readUIntLE(21, 6),
    number: bytes.readUIntLE(27, 6),
    piece: bytes.readUInt16LE(33),
    pieces: bytes.readUInt16LE(35),
    length: bytes.readUInt32LE(37),
    node,
    payload: bytes.subarray(idEnd),
  };
  return isNodeId(node) && isConsistent(envelope) ? envelope : null;
}

function isConsistent({ piece, pieces, length, payload }: Envelope): boolean {
  if (length > MAX_MESSAGE_BYTES || pieces === 0 || piece >= pieces) return false;
  return pieces === 1 ? payload.length === length : payload.length > 0 && payload.length < length;
}

/** The bytes of a message in the parts that each envelope carries. A short message is one part. */
export function cutIntoPieces(message: Uint8Array, mostBytes: number): Uint8Array[] {
  if (message.length <= mostBytes) return [message];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < message.length; at += mostBytes) pieces.push(message.subarray(at, at + mostBytes));
  return pieces;
}
