import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { FrameError } from '../frames/envelope.ts';
import { LeafTree, verifyLeaf } from './leaf-tree.ts';
import { webSha256 } from './signature-crypto.ts';
import { SignatureError } from './signature-error.ts';
import type { Statement } from './statement.ts';

/** MTH of RFC 9162, section 2.1.1, as it is written there. */
async function treeHash(leaves: readonly Uint8Array[]): Promise<Uint8Array> {
  if (leaves.length === 1) return webSha256(Uint8Array.of(0, ...leaves[0]));
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  const [left, right] = [await treeHash(leaves.slice(0, k)), await treeHash(leaves.slice(k))];
  return webSha256(Uint8Array.of(1, ...left, ...right));
}

function leavesOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / 64) }, (_, i) => bytes.subarray(64 * i, 64 * i + 64));
}

function statementOf(bytes: Uint8Array, root: Uint8Array | undefined): Statement {
  return {
    structure: 'BloomFilter',
    epoch: 1,
    length: bytes.length,
    sha256: new Uint8Array(32),
    root,
    name: '',
  };
}

const LENGTHS = [1, 63, 64, 65, 128, 129, 320, 321, 448, 449, 1000, 2048, 2049];

test('the root is the Merkle tree hash of RFC 9162', async () => {
  for (const length of LENGTHS) {
    const bytes = new Random(length).bytes(length);
    expect((await LeafTree.of(bytes)).root, `${length} bytes`).toEqual(await treeHash(leavesOf(bytes)));
  }
});

test('every leaf has a proof, which shows its bytes and their place', async () => {
  for (const length of LENGTHS) {
    const bytes = new Random(length).bytes(length);
    const tree = await LeafTree.of(bytes);
    const statement = statementOf(bytes, tree.root);
    for (let offset = 0; offset < length; offset += 50) {
      const proven = await verifyLeaf(statement, tree.prove(offset));
      expect(proven.offset).toBe(64 * Math.floor(offset / 64));
      expect(proven.bytes).toEqual(bytes.subarray(proven.offset, proven.offset + 64));
    }
  }
});

test('a proof from a frame of 1.2 MB has 548 bytes', async () => {
  const bytes = new Uint8Array(1_200_000);
  const sha256 = () => new Uint8Array(32);
  const tree = await LeafTree.of(bytes, { sha256 });
  expect(tree.prove(600_000).length).toBe(4 + 64 + 15 * 32);
});

test('every flipped bit and every prefix of a proof is refused', async () => {
  const bytes = new Random(5).bytes(64 * 6 + 10);
  const tree = await LeafTree.of(bytes);
  const statement = statementOf(bytes, tree.root);
  for (const offset of [130, bytes.length - 1]) {
    const proof = tree.prove(offset);
    for (let bit = 0; bit < 8 * proof.length; bit++) {
      const changed = proof.slice();
      changed[bit >> 3] ^= 1 << (bit & 7);
      const error = await verifyLeaf(statement, changed).catch((reason: unknown) => reason);
      expect(error instanceof SignatureError || error instanceof FrameError, `bit ${bit}`).toBe(true);
    }
    for (let length = 0; length < proof.length; length++) {
      await expect(verifyLeaf(statement, proof.subarray(0, length))).rejects.toThrow(FrameError);
    }
    await expect(verifyLeaf(statement, Uint8Array.of(...proof, 0))).rejects.toMatchObject({
      code: 'trailing',
    });
  }
});

test('random bytes give typed errors', async () => {
  const random = new Random(6);
  const bytes = random.bytes(500);
  const statement = statementOf(bytes, (await LeafTree.of(bytes)).root);
  for (let round = 0; round < withEffort(500); round++) {
    const proof = random.bytes(random.below(300));
    if (round % 2 === 0 && proof.length > 4) proof.set([round % 8, 0, 0, 0]);
    const error = await verifyLeaf(statement, proof).catch((reason: unknown) => reason);
    expect(error instanceof SignatureError || error instanceof FrameError).toBe(true);
  }
});

test('a proof of another tree, or under a statement without a root, shows nothing', async () => {
  const bytes = new Random(7).bytes(500);
  const [tree, other] = [await LeafTree.of(bytes), await LeafTree.of(new Random(8).bytes(500))];
  await expect(verifyLeaf(statementOf(bytes, other.root), tree.prove(0))).rejects.toMatchObject({
    code: 'proof',
  });
  await expect(verifyLeaf(statementOf(bytes, undefined), tree.prove(0))).rejects.toMatchObject({
    code: 'proof',
  });
  expect(() => tree.prove(500)).toThrow(RangeError);
  await expect(LeafTree.of(new Uint8Array(0))).rejects.toThrow(TypeError);
});
