/**
 * Frames that were signed by their publisher.
 *
 * A statement is about the plain frame. A client may get that frame as it is, coded, or by deltas
 * from a frame that it holds, through any number of them: the one statement tells whether it has
 * arrived. A delta therefore needs no signature of its own, and a client that skipped ten
 * publications verifies once. The 64 bits of checksum in a delta and the 32 in a frame stop
 * accidents; SHA-256 stops forgers.
 *
 * Untrusted bytes are unpacked before their digest can be compared. That is safe for two reasons.
 * The decoders are made for untrusted input. And the statement, which is trusted by then, has the
 * length of the result, so nothing longer is ever allocated.
 */

import { checkFrame } from '../frames/check-frame.ts';
import { readFrameHead } from '../frames/frame-head.ts';
import { checkOptions } from '../keys/check-options.ts';
import { checkInteger } from '../math/checks.ts';
import { expandFrame } from '../wire/coding/compressed-frame.ts';
import { applyDelta } from '../wire/coding/delta.ts';
import { LeafTree } from './leaf-tree.ts';
import { type DigestOptions, digestOf, hexOf, type SignEd25519, sameBytes } from './signature-crypto.ts';
import { SignatureError } from './signature-error.ts';
import type { Statement } from './statement.ts';
import { signStatement } from './verify-signature.ts';

export interface SignFrameOptions extends DigestOptions {
  /** Higher than that of every earlier publication under the same name. */
  readonly epoch: number;
  readonly name?: string | undefined;
  /** Signs the root of a tree as well, so that holders can prove single answers. Default false. */
  readonly proofs?: boolean | undefined;
  /** Ed25519 with the publisher's private key. */
  readonly sign: SignEd25519;
}

/**
 * Signs the frame of a filter, plain or coded. Returns the bytes of the signature. A frame that was
 * damaged is refused with a `FrameError`.
 */
export async function signFrame(frame: Uint8Array, options: SignFrameOptions): Promise<Uint8Array> {
  checkOptions('signFrame', options, ['epoch', 'name', 'proofs', 'sign', 'sha256', 'signal']);
  const { epoch, name = '', proofs = false, sign, sha256, signal } = options;
  checkInteger('epoch', epoch);
  checkFrame(frame);
  const plain = expandFrame(frame, { maxBytes: Number.POSITIVE_INFINITY });
  const hashing = { sha256, signal };
  const statement: Statement = {
    structure: readFrameHead(plain).structure,
    epoch,
    length: plain.length,
    sha256: await digestOf(plain, hashing),
    ...(proofs ? { root: (await LeafTree.of(plain, hashing)).root } : {}),
    name,
  };
  return signStatement(statement, sign, { signal });
}

/**
 * Returns the plain frame that a verified statement is about. `bytes` is that frame, plain or
 * coded. Throws a `SignatureError` if it is another one.
 */
export async function verifyFrame(
  statement: Statement,
  bytes: Uint8Array,
  options: DigestOptions = {},
): Promise<Uint8Array> {
  checkOptions('verifyFrame', options, ['sha256', 'signal']);
  const { structure } = readFrameHead(bytes);
  if (structure !== statement.structure) throw otherContents(`a ${statement.structure}`, `a ${structure}`);
  const frame = expandFrame(bytes, { maxBytes: statement.length });
  await verifyContents(statement, frame, options);
  return frame;
}

/**
 * Throws a `SignatureError` unless a verified statement is about exactly these bytes: a plain
 * frame, or the list of the files of an index (`fileList`).
 */
export async function verifyContents(
  statement: Statement,
  bytes: Uint8Array,
  options: DigestOptions = {},
): Promise<void> {
  checkOptions('verifyContents', options, ['sha256', 'signal']);
  if (bytes.length !== statement.length) {
    throw otherContents(`${statement.length} bytes`, `${bytes.length}`);
  }
  const digest = await digestOf(bytes, options);
  if (!sameBytes(digest, statement.sha256)) {
    throw otherContents(`SHA-256 ${hexOf(statement.sha256)}`, hexOf(digest));
  }
}

/**
 * Applies deltas one after the other to a plain frame, and returns the result if a verified
 * statement is about it. The frame at hand need not be verified: a wrong one cannot lead to the
 * right result. The frames in between are never returned. None of them may be longer than the
 * longer of the first and the last.
 */
export async function verifyDeltas(
  statement: Statement,
  frame: Uint8Array,
  deltas: Iterable<Uint8Array>,
  options: DigestOptions = {},
): Promise<Uint8Array> {
  checkOptions('verifyDeltas', options, ['sha256', 'signal']);
  let current = frame;
  for (const delta of deltas) current = applyDelta(current, delta, { maxBytes: statement.length });
  return verifyFrame(statement, current, options);
}

function otherContents(expected: string, got: string): SignatureError {
  return new SignatureError('contents', `Cannot trust the contents: expected ${expected}, got ${got}`);
}
