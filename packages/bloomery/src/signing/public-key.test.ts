import { expect, test } from 'vitest';
import { bytesOf, PUBLISHER } from '../../test/signing-keys.ts';
import { readPublicKey } from './public-key.ts';
import { SignatureError } from './signature-error.ts';

/** The first key of RFC 8032 as `openssl pkey -pubout` writes it. */
const PEM = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
`;
const DER = bytesOf(
  '302a300506032b6570032100d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
);

test('PEM, DER and the bytes themselves are the same key', () => {
  for (const form of [PEM, PEM.replaceAll('\n', '\r\n'), `  ${PEM}`, DER, PUBLISHER.publicKey]) {
    expect(readPublicKey(form)).toEqual(PUBLISHER.publicKey);
  }
});

test('everything else is refused, and a private key by its name', () => {
  const shorter = PEM.replace('URo=', '');
  for (const wrong of ['', 'key', shorter, PEM.replace('MCow', 'MCox'), `${PEM}${PEM}`]) {
    expect(() => readPublicKey(wrong), wrong).toThrow(SignatureError);
  }
  expect(() => readPublicKey(PEM.replaceAll('PUBLIC', 'PRIVATE'))).toThrow(/got a private key/);
  for (let bit = 0; bit < 12 * 8; bit++) {
    const changed = DER.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    expect(() => readPublicKey(changed), `bit ${bit}`).toThrow(SignatureError);
  }
  for (let length = 0; length < DER.length; length++) {
    if (length !== 32) expect(() => readPublicKey(DER.subarray(0, length))).toThrow(SignatureError);
  }
  expect(() => readPublicKey(7 as never)).toThrow(TypeError);
});
