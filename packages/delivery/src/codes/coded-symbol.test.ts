import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { decodeSymbol, encodeSymbol } from './coded-symbol.ts';

const PAYLOAD = Uint8Array.from({ length: 16 }, (_, i) => 3 * i);

test('decodeSymbol reads what encodeSymbol wrote', () => {
  for (const ids of [[0], [2 ** 32 - 1], Array.from({ length: 50 }, (_, i) => i * 80_000_000)]) {
    const encoded = encodeSymbol({ ids, payload: PAYLOAD });
    expect(encoded.length).toBe(1 + 4 * ids.length + 16);
    expect(decodeSymbol(encoded, 16)).toEqual({ ids, payload: PAYLOAD });
  }
});

test('encodeSymbol refuses ids that no reader takes', () => {
  for (const ids of [[], [1, 1], [-1], [2 ** 32], [0.5], Array.from({ length: 51 }, (_, i) => i)])
    expect(() => encodeSymbol({ ids, payload: PAYLOAD })).toThrow(/^Cannot write a symbol/);
});

test('decodeSymbol refuses every prefix, more bytes, and ids that come twice', () => {
  const encoded = encodeSymbol({ ids: [1, 2, 3], payload: PAYLOAD });
  for (let length = 0; length < encoded.length; length++)
    expect(() => decodeSymbol(encoded.subarray(0, length), 16)).toThrow(/^Cannot read a symbol/);
  expect(() => decodeSymbol(Uint8Array.of(...encoded, 0), 16)).toThrow('expected 29 bytes, got 30');
  const twice = encoded.slice();
  twice[5] = 1;
  expect(() => decodeSymbol(twice, 16)).toThrow('expected different ids');
});

test('decodeSymbol survives flipped bits and random bytes', () => {
  const encoded = encodeSymbol({ ids: [1, 2, 3], payload: PAYLOAD });
  const random = new Random(4);
  for (let round = 0; round < 2000; round++) {
    const changed = round < 8 * encoded.length ? encoded.slice() : random.bytes(29);
    if (round < 8 * encoded.length) changed[round >> 3] ^= 1 << (round & 7);
    else changed[0] = random.below(60);
    try {
      const { ids, payload } = decodeSymbol(changed, 16);
      expect(new Set(ids).size).toBe(ids.length);
      expect(payload.length).toBe(16);
    } catch (error) {
      expect(error).toMatchObject({ name: 'DeliveryError', code: 'malformed' });
    }
  }
});
