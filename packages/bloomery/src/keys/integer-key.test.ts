import { expect, test } from 'vitest';
import { integerBytes, integerHalves, splitInteger } from './integer-key.ts';

const POWERS = [0n, 7n, 8n, 31n, 32n, 33n, 52n, 53n, 62n, 63n, 64n, 65n, 71n, 72n, 200n];
const INTEGERS = POWERS.flatMap((power) => [2n ** power - 1n, 2n ** power, 2n ** power + 1n]);
const SIGNED = [0n, ...INTEGERS, ...INTEGERS.map((value) => -value)];

test('integerBytes is the two’s complement form, of 64 bits or as short as possible beyond', () => {
  for (const value of SIGNED) {
    const bytes = integerBytes(value);
    let back = 0n;
    for (const [i, byte] of bytes.entries()) back += BigInt(byte) << BigInt(8 * i);
    expect(BigInt.asIntN(8 * bytes.length, back)).toBe(value);
    expect(bytes.length).toBeGreaterThanOrEqual(8);
    // One byte less would lose the sign or a digit.
    if (bytes.length > 8) expect(BigInt.asIntN(8 * bytes.length - 8, value)).not.toBe(value);
  }
});

test('splitInteger gives the same bytes for every integer of up to 64 bits', () => {
  for (const value of SIGNED) {
    const bytes = integerBytes(value);
    const length = splitInteger(value);
    const fits = value >= -(2n ** 63n) && value < 2n ** 64n;
    expect(length).toBe(fits ? bytes.length : 0);
    if (!fits) continue;
    expect([...new Uint8Array(integerHalves.slice().buffer), 0].slice(0, length)).toEqual([...bytes]);
  }
});

test('splitInteger takes a number as the bigint of the same value', () => {
  for (const value of SIGNED.filter((integer) => Number.isSafeInteger(Number(integer)))) {
    expect(splitInteger(value)).toBe(8);
    const expected = integerHalves.slice();
    expect(splitInteger(Number(value))).toBe(8);
    expect(integerHalves).toEqual(expected);
  }
});

test('splitInteger refuses everything that is not an integer key', () => {
  for (const key of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '1', null, undefined, true, {}]) {
    expect(splitInteger(key)).toBe(0);
  }
});
