import { expect, test } from 'vitest';
import { verificationValue } from '../../test/verification-value.ts';
import { xxh64Words } from './xxh64.ts';

function xxh64(bytes: Uint8Array, seed: number): bigint {
  const words = new Int32Array(Math.ceil(bytes.length / 4) + 1);
  new Uint8Array(words.buffer).set(bytes);
  const out = new Int32Array(2);
  xxh64Words(words, bytes.length, seed, 0, out);
  return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
}

test('XXH64 has SMHasher’s verification value 024B7CF4', () => {
  expect(verificationValue(xxh64)).toBe(0x024b7cf4);
});

test('XXH64 with seeds: the published values for seed 2654435761', () => {
  const buffer = new Uint8Array(222);
  let generator = 2654435761n;
  for (let i = 0; i < buffer.length; i++) {
    buffer[i] = Number(generator >> 56n);
    generator = BigInt.asUintN(64, generator * 11400714785074694797n);
  }
  for (const [length, expected] of [
    [0, 0xac75fda2929b17efn],
    [1, 0x5014607643a9b4c3n],
    [14, 0xc3bd6bf63deb6df0n],
    [222, 0x20cb8ab7ae10c14an],
  ] as const) {
    expect(xxh64(buffer.subarray(0, length), 2654435761 | 0)).toBe(expected);
  }
});
