/**
 * A tree of hashes over the bytes of a frame (Merkle), so that a holder of the frame can prove a
 * few of its bytes to a client that has none of them.
 *
 * The bytes are cut into leaves of 64. The hash of a leaf is SHA-256(00, leaf), that of a node
 * SHA-256(01, left, right), as in RFC 9162, section 2.1.1, so a leaf can never be taken for a node.
 * A last node without a partner goes up one level as it is, which gives the tree of that RFC. The
 * statement has the length, so a proof needs no directions: the number of the leaf tells at each
 * level on which side its partner stands.
 *
 *     0  4  number of the leaf
 *     4  …  the leaf: 64 bytes, fewer only at the end
 *        …  the partners, from the leaf to the root, 32 bytes each
 *
 * A proof from a frame of 1.2 MB has 548 bytes. Leaves of 32 bytes would give the same size with
 * twice the hashing, leaves of 128 bytes 32 more. The tree takes as many bytes of memory as the
 * frame.
 */

import { decoding, refuse, viewOf } from '../frames/envelope.ts';
import { throwIfAborted } from '../keys/abort.ts';
import { checkOptions } from '../keys/check-options.ts';
import { checkInteger } from '../math/checks.ts';
import { type DigestOptions, SHA256_BYTES, type Sha256, sameBytes, webSha256 } from './signature-crypto.ts';
import { SignatureError } from './signature-error.ts';
import type { Statement } from './statement.ts';

/** Some bytes of a frame that a proof has shown to be those of its publisher. */
export interface ProvenBytes {
  /** The place of the first byte in the frame. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export class LeafTree {
  readonly #bytes: Uint8Array;
  /** The hashes of each level, from the leaves to the root. */
  readonly #levels: readonly Uint8Array[];

  private constructor(bytes: Uint8Array, levels: readonly Uint8Array[]) {
    this.#bytes = bytes;
    this.#levels = levels;
  }

  /** Hashes the bytes of a frame, which must not change afterwards. */
  static async of(bytes: Uint8Array, options: DigestOptions = {}): Promise<LeafTree> {
    checkOptions('LeafTree.of', options, ['sha256', 'signal']);
    if (!(bytes instanceof Uint8Array) || bytes.length === 0) {
      throw new TypeError(`Cannot make a tree: expected one or more bytes, got ${bytes?.length}`);
    }
    const { sha256 = webSha256, signal } = options;
    const leaves = new Uint8Array(leafCount(bytes.length) * SHA256_BYTES);
    for (let i = 0; i * LEAF_BYTES < bytes.length; i++) {
      if (i % ABORT_STEP === 0) throwIfAborted(signal);
      const hash = leafHash(bytes.subarray(i * LEAF_BYTES, (i + 1) * LEAF_BYTES), sha256);
      // A function that answers at once is not waited for: that would take longer than hashing.
      leaves.set(hash instanceof Uint8Array ? hash : await hash, i * SHA256_BYTES);
    }
    const levels: Uint8Array[] = [leaves];
    for (let level: Uint8Array = leaves; level.length > SHA256_BYTES; levels.push(level)) {
      throwIfAborted(signal);
      level = await nextLevel(level, sha256);
    }
    return new LeafTree(bytes, levels);
  }

  /** The hash that stands for all bytes: 32 bytes. */
  get root(): Uint8Array {
    return this.#levels[this.#levels.length - 1].slice();
  }

  /** Returns the proof for the leaf that holds the byte at `offset`. */
  prove(offset: number): Uint8Array {
    checkInteger('offset', offset, 0, this.#bytes.length - 1);
    const leaf = Math.floor(offset / LEAF_BYTES);
    const contents = this.#bytes.subarray(leaf * LEAF_BYTES, (leaf + 1) * LEAF_BYTES);
    const path: Uint8Array[] = [];
    this.#levels.forEach((level, height) => {
      const partner = partnerOf(Math.floor(leaf / 2 ** height)) * SHA256_BYTES;
      if (partner < level.length) path.push(level.subarray(partner, partner + SHA256_BYTES));
    });
    const proof = new Uint8Array(HEAD + contents.length + SHA256_BYTES * path.length);
    viewOf(proof).setUint32(0, leaf, true);
    proof.set(contents, HEAD);
    path.forEach((hash, i) => {
      proof.set(hash, HEAD + contents.length + SHA256_BYTES * i);
    });
    return proof;
  }
}

/**
 * Returns the bytes that a proof shows. The statement must be verified and have a root. Throws a
 * `FrameError` for a proof of the wrong shape, and a `SignatureError` for bytes that are not the
 * publisher's.
 */
export async function verifyLeaf(
  statement: Statement,
  proof: Uint8Array,
  options: DigestOptions = {},
): Promise<ProvenBytes> {
  checkOptions('verifyLeaf', options, ['sha256', 'signal']);
  const { sha256 = webSha256, signal } = options;
  if (statement.root === undefined) {
    throw new SignatureError('proof', 'Cannot trust the proof: expected a statement with a root, got none');
  }
  const { leaf, bytes, path } = decoding('proof', () => readProof(statement.length, proof));
  let hash = await leafHash(bytes, sha256);
  for (const [i, isLeft] of sidesOf(leaf, leafCount(statement.length)).entries()) {
    throwIfAborted(signal);
    const partner = path.subarray(i * SHA256_BYTES, (i + 1) * SHA256_BYTES);
    hash = await (isLeft ? nodeHash(hash, partner, sha256) : nodeHash(partner, hash, sha256));
  }
  if (!sameBytes(hash, statement.root)) {
    throw new SignatureError(
      'proof',
      'Cannot trust the proof: expected a path to the signed root, got another',
    );
  }
  return { offset: leaf * LEAF_BYTES, bytes };
}

function readProof(length: number, proof: Uint8Array) {
  if (!(proof instanceof Uint8Array)) throw new TypeError('Cannot decode: expected a Uint8Array');
  if (proof.length < HEAD) refuse('truncated', proof.length, `at least ${HEAD} bytes`, proof.length);
  const leaf = viewOf(proof).getUint32(0, true);
  if (leaf >= leafCount(length)) refuse('parameters', 0, `a leaf below ${leafCount(length)}`, leaf);
  const pathStart = HEAD + Math.min(LEAF_BYTES, length - leaf * LEAF_BYTES);
  const end = pathStart + SHA256_BYTES * sidesOf(leaf, leafCount(length)).length;
  if (proof.length < end) refuse('truncated', proof.length, `${end} bytes`, proof.length);
  if (proof.length > end) refuse('trailing', end, `${end} bytes`, proof.length);
  return { leaf, bytes: proof.slice(HEAD, pathStart), path: proof.subarray(pathStart) };
}

/**
 * For each level at which the node above a leaf has a partner, whether the node is the left one.
 */
function sidesOf(leaf: number, leaves: number): boolean[] {
  const sides: boolean[] = [];
  for (let [place, width] = [leaf, leaves]; width > 1; place = Math.floor(place / 2)) {
    if (partnerOf(place) < width) sides.push(place % 2 === 0);
    width = Math.ceil(width / 2);
  }
  return sides;
}

function partnerOf(place: number): number {
  return place % 2 === 0 ? place + 1 : place - 1;
}

async function nextLevel(level: Uint8Array, sha256: Sha256): Promise<Uint8Array> {
  const width = level.length / SHA256_BYTES;
  const next = new Uint8Array(Math.ceil(width / 2) * SHA256_BYTES);
  for (let i = 0; i < width; i += 2) {
    const [left, right] = [i, i + 1].map((at) => level.subarray(at * SHA256_BYTES, (at + 1) * SHA256_BYTES));
    const hash = i + 1 < width ? nodeHash(left, right, sha256) : left;
    next.set(hash instanceof Uint8Array ? hash : await hash, (i / 2) * SHA256_BYTES);
  }
  return next;
}

function leafHash(leaf: Uint8Array, sha256: Sha256): Uint8Array | Promise<Uint8Array> {
  const bytes = new Uint8Array(1 + leaf.length);
  bytes[0] = LEAF;
  bytes.set(leaf, 1);
  return sha256(bytes);
}

function nodeHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array | Promise<Uint8Array> {
  const bytes = new Uint8Array(1 + 2 * SHA256_BYTES);
  bytes[0] = NODE;
  bytes.set(left, 1);
  bytes.set(right, 1 + SHA256_BYTES);
  return sha256(bytes);
}

function leafCount(length: number): number {
  return Math.ceil(length / LEAF_BYTES);
}

const LEAF_BYTES = 64;
const LEAF = 0;
const NODE = 1;
const HEAD = 4;
const ABORT_STEP = 1024;
