import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestFromBase64, digestFromHex, digestInKey, reprDigests } from './named-digest.ts';

const BYTES = Buffer.from('content');
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const SHA512 = createHash('sha512').update(BYTES).digest('hex');

test.each([
  [`https://registry.example/v2/library/debian/blobs/sha256:${SHA256}`, 'sha256', SHA256],
  [`https://registry.example/v2/debian/manifests/sha256:${SHA256}?ns=docker.io`, 'sha256', SHA256],
  [`https://mirror.example/api/docker/v2/a/b/blobs/sha256%3A${SHA256}`, 'sha256', SHA256],
  [`http://registry.example:5000/v2/a/blobs/sha512:${SHA512}`, 'sha512', SHA512],
  [`http://deb.example/debian/dists/sid/main/binary-amd64/by-hash/SHA256/${SHA256}`, 'sha256', SHA256],
  [`http://deb.example/debian/dists/sid/by-hash/SHA512/${SHA512}`, 'sha512', SHA512],
])('digestInKey finds the digest of %s', (key, algorithm, hex) => {
  expect(digestInKey(key)).toEqual({ algorithm, hex });
});

test.each([
  'http://a.example/',
  `http://a.example/sha256:${SHA256}`,
  `http://a.example/v2/blobs/sha256:${SHA256}`,
  `http://v2/a/blobs/sha256:${SHA256}`,
  `http://a.example/v2/a/tags/sha256:${SHA256}`,
  `http://a.example/v2/a/blobs/sha256:${SHA256.slice(1)}`,
  `http://a.example/v2/a/blobs/sha256:${SHA256}0`,
  `http://a.example/v2/a/blobs/sha256:${SHA256.toUpperCase()}`,
  `http://a.example/v2/a/blobs/sha256:${SHA512}`,
  `http://a.example/v2/a/blobs/md5:${SHA256}`,
  `http://a.example/v2/a/blobs/uploads/?digest=sha256:${SHA256}`,
  `http://a.example/x?y=/v2/a/blobs/sha256:${SHA256}`,
  `http://deb.example/by-hash/MD5Sum/${SHA256.slice(0, 32)}`,
  `http://deb.example/by-hash/SHA1/${SHA256.slice(0, 40)}`,
  `http://bazel.example/cas/${SHA256}`,
  `http://nix.example/nar/${SHA256}.nar.xz`,
])('digestInKey finds none in %s', (key) => {
  expect(digestInKey(key)).toBeNull();
});

test('reprDigests reads sha-256 and sha-512, also from several lines', () => {
  const sha256 = `sha-256=:${Buffer.from(SHA256, 'hex').toString('base64')}:`;
  const sha512 = `sha-512=:${Buffer.from(SHA512, 'hex').toString('base64')}:`;
  const both = [
    { algorithm: 'sha256', hex: SHA256 },
    { algorithm: 'sha512', hex: SHA512 },
  ];
  expect(reprDigests(['Repr-Digest', sha256])).toEqual([both[0]]);
  expect(reprDigests(['repr-digest', `${sha512}, ${sha256}`])).toEqual(both);
  expect(reprDigests(['Repr-Digest', sha256, 'Repr-Digest', sha512])).toEqual(both);
  expect(reprDigests(['Repr-Digest', `unixsum=:AAA=:, ${sha256};a=1`])).toEqual([both[0]]);
});

test('reprDigests ignores a field that is damaged, too short or of another algorithm', () => {
  const base64 = Buffer.from(SHA256, 'hex').toString('base64');
  for (const value of [
    '',
    'sha-256',
    `sha-256=${base64}`,
    `sha-256=:${base64.slice(4)}:`,
    `sha-256="${base64}"`,
    `sha-256=:${base64}:, =`,
    `md5=:${base64}:`,
    `sha-512=:${base64}:`,
  ])
    expect(reprDigests(['Repr-Digest', value]), value).toEqual([]);
  expect(reprDigests(['Content-Type', 'text/plain'])).toEqual([]);
});

test('digestFromBase64 and digestFromHex agree with node:crypto, and refuse other lengths', () => {
  for (let at = 0; at < 100; at++) {
    const digest = createHash('sha512').update(String(at)).digest();
    const named = digestFromBase64('sha512', digest.toString('base64'));
    expect(named).toEqual(digestFromHex('sha512', digest.toString('hex')));
    expect(named?.hex).toBe(digest.toString('hex'));
  }
  expect(digestFromBase64('sha512', Buffer.alloc(63).toString('base64'))).toBeNull();
  expect(digestFromBase64('sha256', '*'.repeat(44))).toBeNull();
  expect(digestFromHex('sha256', 'z'.repeat(64))).toBeNull();
});
