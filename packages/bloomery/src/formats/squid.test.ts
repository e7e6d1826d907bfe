import { SQUID } from '@bloomery/testkit/golden/foreign-files';
import { expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { md5 } from './hashes/md5.ts';
import { keyWords, loadKey } from './shared/foreign-key.ts';
import type { FormatError } from './shared/format-error.ts';
import { canonicalUrl, SquidDigest, type SquidKey, squidKey } from './squid.ts';

/** The icons that every Squid holds (src/mime.conf.default). */
const ICONS = [
  'SN application arrow_up bomb box bricks bullet_red cd chart_line compress computer_link css cup database',
  'database_table drive_disk film film_key folder folder_table image information layers layout link music package',
  'package_go page_code page_excel page_green page_white page_white_acrobat page_white_c page_white_cplusplus',
  'page_white_flash page_white_magnify page_white_picture page_white_powerpoint page_white_stack page_white_text',
  'page_white_word page_white_zip page_world photo picture plugin plugin_add script script_gear script_palette',
]
  .join(' ')
  .split(' ')
  .map(
    (name) =>
      `http://cache-a.test:13128/squid-internal-static/icons/${name === 'SN' ? '' : 'silk/'}${name}.png`,
  );

foreignContract<SquidKey>({
  name: 'Squid',
  format: 'squid',
  file: SQUID,
  headerLength: 128,
  decode: SquidDigest.decode,
  keys: ICONS,
  absent: (i) => `http://absent.test/${i}`,
  probe: 'http://x/',
  bitBytes: 158,
});

test('the digest of a real Squid', () => {
  const digest = SquidDigest.decode(SQUID);
  expect(ICONS).toHaveLength(51);
  expect([digest.capacity, digest.bitsPerEntry, digest.bits, digest.count]).toEqual([252, 5, 1264, 302]);
  expect(digest.useful).toBe(true);
  // 0.544 is rounded to three digits, so it is wrong by up to half of the last one.
  expect(digest.onesCount() / digest.bits).toBeCloseTo(0.544, 3);
  // 251 entries; the count in the header is wrong, the zeros are not.
  expect(Math.abs(digest.estimatedSize() - 251)).toBeLessThan(20);
});

test('a digest made here has the header of Squid’s', () => {
  const digest = SquidDigest.create({ capacity: 252 });
  for (let i = 0; i < 302; i++) digest.add(ICONS[i % 51]);
  expect(digest.encode().subarray(0, 128)).toEqual(SQUID.subarray(0, 128));
  expect(digest.encode()).toHaveLength(128 + 158);
  const both = SquidDigest.decode(SQUID).union(digest);
  expect(both.encode().subarray(128)).toEqual(SQUID.subarray(128)); // the icons were in
  expect(both.count).toBe(604);
  expect(both.equals(SquidDigest.decode(SQUID))).toBe(true);
  const other = SquidDigest.create({ capacity: 252, bitsPerEntry: 6 });
  expect(() => both.merge(other)).toThrow(
    /Cannot merge unlike filters: SquidDigest\(capacity 252, 5 bits per entry/,
  );
});

test('MD5: the vectors of RFC 1321, A.5', () => {
  const hex = (text: string) => {
    const out = new Int32Array(4);
    const length = loadKey(text);
    md5(keyWords(), length, out);
    return [...new Uint8Array(out.buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  };
  expect(hex('')).toBe('d41d8cd98f00b204e9800998ecf8427e');
  expect(hex('a')).toBe('0cc175b9c0f1b6a831c399e269772661');
  expect(hex('abc')).toBe('900150983cd24fb0d6963f7d28e17f72');
  expect(hex('message digest')).toBe('f96b697d7cb7938d525a2f31aaf161d0');
  expect(hex('abcdefghijklmnopqrstuvwxyz')).toBe('c3fcd3d76192e4007dfb496cca67e13b');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  expect(hex(alphabet)).toBe('d174ab98d277d9f5a5611c2c9f419d9f');
  expect(hex('1234567890'.repeat(8))).toBe('57edf4a22be3c955ac49da2e2107b67a');
});

test('MD5 of every length around its blocks, all bytes hashed together', () => {
  // The MD5 of the concatenated MD5s of 'a' repeated 0 to 200 times, by another program (Python's
  // hashlib).
  const all = new Uint8Array(16 * 201);
  for (let length = 0; length <= 200; length++) {
    const out = new Int32Array(4);
    // Old bytes lie behind the key.
    const bytes = loadKey(`${'x'.repeat(300)}`) && loadKey('a'.repeat(length));
    md5(keyWords(), bytes, out);
    all.set(new Uint8Array(out.buffer), 16 * length);
  }
  const out = new Int32Array(4);
  const length = loadKey(all);
  md5(keyWords(), length, out);
  const hex = [...new Uint8Array(out.buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  expect(hex).toBe('d2a4f9fd5d451c0381f758277052e173');
});

test('URLs are brought into the form that Squid hashes', () => {
  expect(canonicalUrl('HTTP://Example.COM')).toBe('http://example.com/');
  expect(canonicalUrl('http://a:80/X%7e?q=1')).toBe('http://a/X%7e?q=1');
  expect(canonicalUrl('http://a:8080/')).toBe('http://a:8080/');
  expect(canonicalUrl('http://a:443/')).toBe('http://a:443/');
  expect(canonicalUrl('https://a:443?q')).toBe('https://a/?q');
  expect(canonicalUrl('http://User:Word@Example.com/')).toBe('http://example.com/');
  expect(canonicalUrl('https://a@b@c:443/@')).toBe('https://c/@');
  expect(canonicalUrl('ftp://User@a:21/x')).toBe('ftp://user@a/x');
  expect(canonicalUrl('http://a.test./')).toBe('http://a.test/');
  expect(canonicalUrl('http://a.test.:80/b.')).toBe('http://a.test/b.');
  expect(canonicalUrl('http://a.test.:8080/')).toBe('http://a.test:8080/');
  expect(canonicalUrl('http://[::1]:80/')).toBe('http://[::1]/');
  expect(() => canonicalUrl('/path')).toThrow('Cannot use the key: expected an absolute URL, got "/path"');
  const digest = SquidDigest.create({ capacity: 10, bitsPerEntry: 32 });
  expect(digest.add('http://Example.com:80')).toBe(true);
  expect(digest.add('http://example.com/')).toBe(false);
  expect(digest.has({ method: 'GET', url: 'http://example.com/' })).toBe(true);
  expect(digest.has({ method: 'HEAD', url: 'http://example.com/' })).toBe(false);
  expect(digest.has(squidKey('http://example.com/'))).toBe(true);
  expect(digest.has(squidKey('http://example.com/', 'HEAD'))).toBe(false);
  expect(() => digest.has(new Uint8Array(15))).toThrow('Cannot use a cache key: expected 16 bytes, got 15');
  expect(() => squidKey('http://a/', 'PATCH' as never)).toThrow(
    /Cannot use method: expected one of GET, POST, PUT, HEAD.*, got PATCH/,
  );
});

test('a key that is refused is not counted', () => {
  const digest = SquidDigest.create({ capacity: 10 });
  for (const wrong of [null, 5, '/path', new Uint8Array(3), { method: 'GET' }]) {
    expect(() => digest.add(wrong as never)).toThrow();
  }
  expect(digest.count).toBe(0);
  expect(() => digest.has(null as never)).toThrow(/Cannot use the key: expected a URL, .* got object/);
  expect(() => digest.has(5 as never)).toThrow(/Cannot use the key: expected a URL, .* got 5/);
});

test('too full for Squid', () => {
  const digest = SquidDigest.create({ capacity: 100 });
  for (let i = 0; i < 100; i++) digest.add(`http://a/${i}`);
  expect(digest.useful).toBe(true);
  for (let i = 100; i < 300; i++) digest.add(`http://a/${i}`);
  expect(digest.useful).toBe(false);
});

test('65 % ones are useful, one more is not', () => {
  const bytes = SquidDigest.create({ capacity: 160 }).encode(); // 800 bits
  bytes.fill(0xff, 128, 128 + 65);
  expect(SquidDigest.decode(bytes).useful).toBe(true);
  bytes[128 + 65] = 1;
  expect(SquidDigest.decode(bytes).useful).toBe(false);
});

test('unlike digests, and a count at its end', () => {
  const digest = SquidDigest.create({ capacity: 252 });
  const other = SquidDigest.create({ capacity: 253 });
  expect(digest.equals(other)).toBe(false);
  expect(() => digest.merge(other)).toThrow(/capacity 252.*capacity 253/);
  const bytes = digest.encode();
  new DataView(bytes.buffer).setInt32(8, 2 ** 31 - 1);
  const full = SquidDigest.decode(bytes);
  full.add('http://a/');
  expect(SquidDigest.decode(full.encode()).count).toBe(2 ** 31 - 1);
});

test('what Squid refuses', () => {
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(SQUID);
    bytes[at] = value;
    return errorOf(() => SquidDigest.decode(bytes)) as FormatError;
  };
  expect(changed(3, 6).code).toBe('version');
  expect(changed(1, 2).code).toBe('version');
  expect(changed(0, 0x80).message).toMatch(/got -32763 that requires 3/); // the numbers are signed
  const older = Uint8Array.from(SQUID);
  older.set([0, 3, 0, 4]); // version 3 that requires 4
  expect((errorOf(() => SquidDigest.decode(older)) as FormatError).code).toBe('version');
  older.set([0, 3, 0, 3]);
  expect(SquidDigest.decode(older).encode()).toEqual(older);
  expect(changed(8, 0x80).message).toMatch(/expected a count of at least 0, got -2147483346/);
  expect(changed(7, 0).message).toMatch(/expected a capacity of at least 1, got 0/);
  expect(changed(19, 150).message).toMatch(/expected 158 bytes of mask, got 150/);
  expect(changed(20, 6).message).toMatch(/expected 189 bytes of mask, got 158/);
  expect(changed(21, 5).message).toMatch(/expected 4 hash functions, got 5/);
  const large = new Uint8Array(128);
  const view = new DataView(large.buffer);
  large.set(SQUID.subarray(0, 128));
  view.setInt32(4, 2 ** 31 - 1);
  view.setInt32(16, 2 ** 28);
  view.setUint8(20, 1);
  expect(() => SquidDigest.decode(large)).toThrow(/fewer than 268435456 bytes of mask, got 268435456/);
  view.setInt32(4, 2 ** 31 - 9);
  view.setInt32(16, 2 ** 28 - 1);
  expect((errorOf(() => SquidDigest.decode(large)) as FormatError).code).toBe('truncated');
  expect(() => SquidDigest.create({ capacity: 2 ** 30 })).toThrow(
    /Cannot use capacity: expected an integer from 1 to 429496727/,
  );
});
