/**
 * Signed publications: filters that others download and must be able to trust, and proofs of single
 * answers from copies that anyone holds.
 *
 * @example
 * ```ts
 * import { readPublicKey, verifyDeltas, verifyFrame, verifySignature } from 'bloomery/signing';
 *
 * const keys = [readPublicKey(pem)];
 * const statement = await verifySignature(signature, { keys, name: 'notes', last });
 * const frame = await verifyFrame(statement, downloaded); // or
 * const same = await verifyDeltas(statement, held, [delta]);
 * ```
 */

export { fileList, type ListedFile } from './file-list.ts';
export { LeafTree, type ProvenBytes, verifyLeaf } from './leaf-tree.ts';
export { readPublicKey } from './public-key.ts';
export type { DigestOptions, Sha256, SignEd25519, VerifyEd25519 } from './signature-crypto.ts';
export { SignatureError, type SignatureErrorCode } from './signature-error.ts';
export {
  type SignFrameOptions,
  signFrame,
  verifyContents,
  verifyDeltas,
  verifyFrame,
} from './signed-frame.ts';
export {
  type DecodedSignature,
  encodeSignature,
  readSignature,
  type SignedStructure,
  type Statement,
  signedMessage,
} from './statement.ts';
export { signStatement, type VerifySignatureOptions, verifySignature } from './verify-signature.ts';
