import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { bytesOf, PUBLISHER } from '../../test/signing-keys.ts';
import { FrameError } from '../frames/envelope.ts';
import { BloomFilter } from '../index.ts';
import { SignatureError } from './signature-error.ts';
import { signFrame } from './signed-frame.ts';
import { encodeSignature, readSignature, type Statement, signedMessage } from './statement.ts';
import { verifySignature } from './verify-signature.ts';

/**
 * The filter of docs/spec/frame.md, signed with the first key of RFC 8032 at epoch 7 as `words`,
 * without and with a root. The bytes were put together by hand from docs/spec/signature.md and
 * signed by openssl 3.0, not by this code.
 */
const GOLDEN = `
  424c4d47 01 01 00 05 0700000000000000 3900000000000000
  232a1e78b731cc30b19a0fe3f9e7186ca7d93e3d55d467170c41d86c712b6b22
  776f726473
  3d29d4756993424a1e96c117cd175863e77b4ef2d0e335284a44a0cc375cdea2
  2128a6c14c220f25ea7686e19e867c15fb511489f6ac78625d8e06edac1db300`;
const GOLDEN_WITH_ROOT = `
  424c4d47 01 01 01 05 0700000000000000 3900000000000000
  232a1e78b731cc30b19a0fe3f9e7186ca7d93e3d55d467170c41d86c712b6b22
  92eb02ff53a06eff77aed74d1fe8625b5518de8698e0614e02b65e4c7cb3dff6
  776f726473
  a6769c94a8a7c6629e434d6583c8d0cb281bb433380868e42432e3eabd1bd17a
  8d4d0c98c5f85e2f1ebddd597804c584348f928ba231858111b90dff980eb105`;

function goldenFrame(): Uint8Array {
  const filter = new BloomFilter({ bits: 194, hashes: 6, capacity: 20 });
  for (let i = 0; i < 20; i++) filter.add(`key-${i}`);
  return filter.encode();
}

const STATEMENT: Statement = {
  structure: 'BloomFilter',
  epoch: 7,
  length: 57,
  sha256: Uint8Array.from({ length: 32 }, (_, i) => i),
  name: 'words',
};

test.each([
  ['without a root', GOLDEN, false],
  ['with a root', GOLDEN_WITH_ROOT, true],
])('golden bytes: a signature %s is written and read the same forever', async (_, hex, proofs) => {
  const options = { epoch: 7, name: 'words', proofs, sign: PUBLISHER.sign };
  const bytes = await signFrame(goldenFrame(), options);
  expectSameBytes(bytes, bytesOf(hex));
  const statement = await verifySignature(bytes, { keys: [PUBLISHER.publicKey], name: 'words' });
  expect(statement).toMatchObject({ structure: 'BloomFilter', epoch: 7, length: 57, name: 'words' });
  expect(statement.root === undefined).toBe(!proofs);
});

test('a statement comes back as it was', () => {
  const root = STATEMENT.sha256.slice().reverse();
  const signature = new Uint8Array(64).fill(9);
  for (const changes of [
    {},
    { root },
    { name: '' },
    { name: 'a b/c~'.padEnd(255, 'x'), root },
    { epoch: 0, length: 0 },
    { epoch: Number.MAX_SAFE_INTEGER, length: Number.MAX_SAFE_INTEGER },
    { structure: 'RangeSketch' as const },
    { structure: 'TextIndex' as const },
  ]) {
    const statement = { ...STATEMENT, ...changes };
    const read = readSignature(encodeSignature(statement, signature));
    expect(read.statement).toEqual(statement);
    expect(read.signature).toEqual(signature);
    expectSameBytes(read.message, signedMessage(statement));
    expect(String.fromCharCode(...read.message.subarray(0, 25))).toBe('bloomery signature 1\nBLMG');
  }
});

test.each([
  [{ structure: 'Nothing' }, /expected the name of a structure, got Nothing/],
  [{ epoch: -1 }, /epoch: expected an integer of at least 0/],
  [{ epoch: 2 ** 53 }, /epoch/],
  [{ length: 1.5 }, /length/],
  [{ name: 'x'.repeat(256) }, /at most 255 characters of printable ASCII/],
  [{ name: 'wörter' }, /printable ASCII/],
  [{ name: 'a\nb' }, /printable ASCII/],
  [{ sha256: new Uint8Array(31) }, /expected digests of 32 bytes, got 31/],
  [{ root: new Uint8Array(33) }, /expected digests of 32 bytes, got 33/],
])('a statement with %o is not written', (changes, message) => {
  expect(() => signedMessage({ ...STATEMENT, ...changes } as Statement)).toThrow(message);
});

test('a signature that is not 64 bytes is not written', () => {
  expect(() => encodeSignature(STATEMENT, new Uint8Array(63))).toThrow(TypeError);
});

test.each([GOLDEN, GOLDEN_WITH_ROOT])('every prefix and every longer form is refused', (hex) => {
  const bytes = bytesOf(hex);
  for (let length = 0; length < bytes.length; length++) {
    expect(() => readSignature(bytes.subarray(0, length)), `${length} bytes`).toThrow(FrameError);
  }
  expect(() => readSignature(Uint8Array.of(...bytes, 0))).toThrow(/expected \d+ bytes/);
  expect(() => readSignature(undefined as never)).toThrow(TypeError);
});

test.each([GOLDEN, GOLDEN_WITH_ROOT])(
  'every flipped bit is refused, by its shape or its key',
  async (hex) => {
    const bytes = bytesOf(hex);
    const codes = new Set<string>();
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] ^= 1 << (bit & 7);
      const error = await verifySignature(changed, { keys: [PUBLISHER.publicKey], name: 'words' }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (!(error instanceof FrameError) && !(error instanceof SignatureError)) {
        throw new Error(`Cannot refuse bit ${bit}: expected a typed error, got ${error}`);
      }
      codes.add(error.code);
    }
    expect(codes).toContain('forged');
    expect(codes).toContain('structure');
    expect([...codes].every((code) => ERRORS.includes(code))).toBe(true);
  },
);

const ERRORS = ['forged', 'not-a-frame', 'version', 'structure', 'parameters', 'truncated', 'trailing'];

test('random bytes, with and without a right beginning, give typed errors', () => {
  const random = new Random(20);
  const start = bytesOf(GOLDEN).subarray(0, 8);
  for (let round = 0; round < withEffort(1500); round++) {
    const bytes = Uint8Array.from({ length: random.below(400) }, () => random.below(256));
    if (round % 2 === 0) bytes.set(start.subarray(0, Math.min(bytes.length, 5 + random.below(4))));
    try {
      const { statement, signature } = readSignature(bytes);
      expectSameBytes(encodeSignature(statement, signature), bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(FrameError);
    }
  }
});

test('the errors say what was decoded and where', () => {
  const bytes = bytesOf(GOLDEN);
  const changed = (offset: number, value: number) => {
    const copy = bytes.slice();
    copy[offset] = value;
    return () => readSignature(copy);
  };
  expect(changed(0, 0x43)).toThrow(/^Cannot decode signature: expected the magic bytes .* \(at byte 0\)$/);
  expect(changed(4, 2)).toThrow(/expected version 1, got 2 \(at byte 4\)/);
  expect(changed(5, 14)).toThrow(/expected a known one, got 14 \(at byte 5\)/);
  expect(changed(6, 2)).toThrow(/expected flags below 2, got 2 \(at byte 6\)/);
  expect(changed(15, 0x20)).toThrow(/at most 2\^53 - 1, got \d+ \(at byte 8\)/);
  expect(changed(56, 0x1b)).toThrow(/expected printable ASCII, got 27 \(at byte 56\)/);
});
