/**
 * The bytes of a signature (docs/spec/signature.md): a statement, and 64 bytes of Ed25519 over it.
 *
 *     0   4  magic 'BLMG' (42 4C 4D 47)
 *     4   1  version: 1
 *     5   1  structure, numbered as in frames; 128 is a text index
 *     6   1  flags: 1 if a root follows, else 0
 *     7   1  n, the length of the name
 *     8   8  epoch
 *     16  8  length of the contents
 *     24  32 SHA-256 of the contents
 *     56  32 root of the tree over the contents, if flag 1 is set
 *         n  name, printable ASCII
 *         64 Ed25519 signature of the line 'bloomery signature 1' and all bytes before
 *
 * The statement is about contents, not about a file: the plain frame of a filter, whichever way it
 * came (plain, coded, or by deltas), or the list of the files of an index. So one signature serves
 * all forms, and a client can check the signature before it downloads or unpacks anything.
 *
 * The line before the statement keeps it apart from everything else that may be signed with the
 * same key. It is not stored. We refused an id of the key in the bytes: a client that trusts two
 * keys tries both, which takes a fraction of a millisecond.
 */

import {
  checkEnvelope,
  checkLength,
  decoding,
  refuse,
  SIGNATURE_MAGIC,
  VERSION,
  viewOf,
} from '../frames/envelope.ts';
import { codeOfStructure, type StructureName, structureByCode } from '../frames/frame-head.ts';
import { textEncoder } from '../keys/platform.ts';
import { checkInteger, wrongValue } from '../math/checks.ts';
import { SHA256_BYTES, SIGNATURE_BYTES } from './signature-crypto.ts';

/** The structure of signed contents: that of a frame, or the index of `bloomery index`. */
export type SignedStructure = StructureName | 'TextIndex';

/** The content of a signature. */
export interface Statement {
  readonly structure: SignedStructure;
  /** A number that rises from publication to publication, at most 2^53 - 1. */
  readonly epoch: number;
  /** The number of bytes of the contents. */
  readonly length: number;
  /** SHA-256 of the contents. */
  readonly sha256: Uint8Array;
  /** The root of a tree over the contents (leaf-tree.ts), if the publisher made one. */
  readonly root?: Uint8Array | undefined;
  /**
   * The publisher's name for the contents, so that one of its filters cannot be passed off as
   * another. At most 255 characters of printable ASCII; empty if there is no name.
   */
  readonly name: string;
}

/** A signature whose bytes are well-formed. `verifySignature` says whether it is true. */
export interface DecodedSignature {
  readonly statement: Statement;
  /** The bytes that Ed25519 signs. */
  readonly message: Uint8Array;
  /** The 64 bytes of Ed25519. */
  readonly signature: Uint8Array;
}

/** The bytes that Ed25519 signs for a statement. */
export function signedMessage(statement: Statement): Uint8Array {
  return messageOf(encodeStatement(statement));
}

/** Puts a statement and the 64 bytes of its signature together. */
export function encodeSignature(statement: Statement, signature: Uint8Array): Uint8Array {
  if (!(signature instanceof Uint8Array) || signature.length !== SIGNATURE_BYTES) {
    throw new TypeError(
      `Cannot encode a signature: expected ${SIGNATURE_BYTES} bytes of Ed25519, got ${signature?.length}`,
    );
  }
  const head = encodeStatement(statement);
  const bytes = new Uint8Array(head.length + SIGNATURE_BYTES);
  bytes.set(head);
  bytes.set(signature, head.length);
  return bytes;
}

/**
 * Reads the bytes of a signature, without checking who signed. Throws a `FrameError` if they are
 * malformed.
 */
export function readSignature(bytes: Uint8Array): DecodedSignature {
  return decoding('signature', () => {
    checkEnvelope(SIGNATURE_MAGIC, bytes, FIXED + SIGNATURE_BYTES);
    const view = viewOf(bytes);
    const structure = structureOf(view.getUint8(STRUCTURE));
    if (structure === undefined) refuse('structure', STRUCTURE, 'a known one', view.getUint8(STRUCTURE));
    const flags = view.getUint8(FLAGS);
    if (flags > HAS_ROOT) refuse('parameters', FLAGS, 'flags below 2', flags);
    const nameStart = FIXED + (flags === HAS_ROOT ? SHA256_BYTES : 0);
    const end = nameStart + view.getUint8(NAME_LENGTH);
    checkLength(bytes.length, end + SIGNATURE_BYTES);
    for (let i = nameStart; i < end; i++) {
      if (!isPrintable(bytes[i])) refuse('parameters', i, 'printable ASCII', bytes[i]);
    }
    const statement: Statement = {
      structure,
      epoch: readNumber(view, EPOCH),
      length: readNumber(view, LENGTH),
      sha256: bytes.slice(SHA256, FIXED),
      ...(flags === HAS_ROOT ? { root: bytes.slice(FIXED, nameStart) } : {}),
      name: String.fromCharCode(...bytes.subarray(nameStart, end)),
    };
    return { statement, message: messageOf(bytes.subarray(0, end)), signature: bytes.slice(end) };
  });
}

function encodeStatement({ structure, epoch, length, sha256, root, name }: Statement): Uint8Array {
  const code = structure === 'TextIndex' ? TEXT_INDEX : codeOfStructure(structure);
  if (code === undefined) throw wrongValue('structure', 'the name of a structure', structure);
  checkInteger('epoch', epoch);
  checkInteger('length', length);
  for (const digest of root === undefined ? [sha256] : [sha256, root]) {
    if (digest instanceof Uint8Array && digest.length === SHA256_BYTES) continue;
    throw new TypeError(`Cannot encode a statement: expected digests of 32 bytes, got ${digest?.length}`);
  }
  const title = textEncoder().encode(name);
  if (title.length > MOST_NAME || !title.every(isPrintable)) {
    throw wrongValue('name', `at most ${MOST_NAME} characters of printable ASCII`, JSON.stringify(name));
  }
  const nameStart = FIXED + (root === undefined ? 0 : SHA256_BYTES);
  const bytes = new Uint8Array(nameStart + title.length);
  const view = viewOf(bytes);
  bytes.set([...SIGNATURE_MAGIC, VERSION, code, root === undefined ? 0 : HAS_ROOT, title.length]);
  view.setBigUint64(EPOCH, BigInt(epoch), true);
  view.setBigUint64(LENGTH, BigInt(length), true);
  bytes.set(sha256, SHA256);
  if (root !== undefined) bytes.set(root, FIXED);
  bytes.set(title, nameStart);
  return bytes;
}

function messageOf(statement: Uint8Array): Uint8Array {
  const context = textEncoder().encode(CONTEXT);
  const message = new Uint8Array(context.length + statement.length);
  message.set(context);
  message.set(statement, context.length);
  return message;
}

function structureOf(code: number): SignedStructure | undefined {
  return code === TEXT_INDEX ? 'TextIndex' : structureByCode(code);
}

function readNumber(view: DataView, offset: number): number {
  const value = view.getBigUint64(offset, true);
  if (value > Number.MAX_SAFE_INTEGER) refuse('parameters', offset, 'at most 2^53 - 1', value);
  return Number(value);
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte <= 0x7e;
}

const CONTEXT = 'bloomery signature 1\n';
const STRUCTURE = 5;
const FLAGS = 6;
const NAME_LENGTH = 7;
const EPOCH = 8;
const LENGTH = 16;
const SHA256 = 24;
/** The bytes before the root and the name. */
const FIXED = 56;
const HAS_ROOT = 1;
/** The number of a text index. Structures of frames have numbers below 128. */
const TEXT_INDEX = 128;
const MOST_NAME = 255;
