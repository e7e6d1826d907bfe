/**
 * Keys for tests of signatures, in Node and in browsers: the first two of RFC 8032, section 7.1.
 */

import type { SignEd25519 } from '../src/signing/index.ts';

interface TestKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly sign: SignEd25519;
}

export const PUBLISHER: TestKey = testKey(
  '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
  'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
);
export const OTHER: TestKey = testKey(
  '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
  '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
);

export function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.replace(/\s+/g, '').match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function testKey(secret: string, publicKey: string): TestKey {
  // PrivateKeyInfo of RFC 8410: these 16 bytes, then the 32 of the key.
  const pkcs8 = bytesOf(`302e020100300506032b657004220420${secret}`);
  return {
    publicKey: bytesOf(publicKey),
    async sign(message) {
      const key = await subtle.importKey('pkcs8', pkcs8, { name: 'Ed25519' }, false, ['sign']);
      return new Uint8Array(await subtle.sign({ name: 'Ed25519' }, key, message));
    },
  };
}

interface SigningCrypto {
  importKey(
    format: string,
    bytes: Uint8Array,
    algorithm: { name: string },
    extractable: boolean,
    usages: string[],
  ): Promise<object>;
  sign(algorithm: { name: string }, key: object, message: Uint8Array): Promise<ArrayBuffer>;
}

const { subtle } = (globalThis as unknown as { crypto: { subtle: SigningCrypto } }).crypto;
