import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type ShaName, sha } from './sha.ts';

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

test('the examples of FIPS 180: "abc"', () => {
  const abc = Uint8Array.of(0x61, 0x62, 0x63);
  expect(hex(sha('sha1', abc, 3))).toBe('a9993e364706816aba3e25717850c26c9cd0d89d');
  expect(hex(sha('sha256', abc, 3))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(hex(sha('sha384', abc, 3))).toBe(
    'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
  );
  expect(hex(sha('sha512', abc, 3))).toBe(
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
  );
});

test('every length over four blocks, against the digests of the platform', async () => {
  const names = { sha1: 'SHA-1', sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' } as const;
  // `globalThis.crypto` of Node 20 and of browsers; the library itself has no types for it.
  const { crypto } = globalThis as unknown as {
    crypto: { subtle: { digest(name: string, bytes: Uint8Array): Promise<ArrayBuffer> } };
  };
  const message = new Random(9).bytes(520);
  for (const [name, algorithm] of Object.entries(names)) {
    for (let length = 0; length <= 520; length++) {
      const expected = new Uint8Array(await crypto.subtle.digest(algorithm, message.subarray(0, length)));
      if (hex(sha(name as ShaName, message, length)) !== hex(expected))
        expect.fail(`${name} of ${length} bytes`);
    }
  }
});
