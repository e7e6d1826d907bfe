import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { commonProtocol, decodeHello, encodeHello, type Hello } from './hello.ts';

const hello: Hello = {
  node: 'a:3129',
  protocol: 1,
  life: 'Zx9_',
  heartbeatMs: 5000,
  next: 7,
  gap: false,
  keys: [4_294_967_295, 0],
};
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

test('decodeHello reads what encodeHello writes', () => {
  expect(decodeHello(encodeHello(hello))).toEqual(hello);
});

test('encodeHello writes the bytes of the specification', () => {
  expect(Buffer.from(encodeHello(hello)).toString()).toBe(
    '{"node":"a:3129","protocol":1,"life":"Zx9_","heartbeatMs":5000,"next":7,"gap":false,"keys":[4294967295,0],"protocols":[1]}',
  );
});

test('decodeHello ignores fields of later versions', () => {
  expect(decodeHello(bytesOf({ ...hello, protocols: [9, 1], colour: { deep: [1] } }))).toEqual(hello);
});

test('decodeHello reads a goodbye, and takes anything but true for none', () => {
  expect(decodeHello(encodeHello({ ...hello, leaving: true }))).toEqual({ ...hello, leaving: true });
  for (const leaving of [false, 1, 'true', null, {}])
    expect(decodeHello(bytesOf({ ...hello, leaving }))).toEqual(hello);
});

test('decodeHello reads a hello that names no secrets', () => {
  expect(decodeHello(bytesOf({ ...hello, keys: undefined }))).toEqual({ ...hello, keys: [] });
});

test('decodeHello refuses each field that is missing or wrong', () => {
  for (const name of Object.keys(hello)) {
    if (name === 'keys') continue;
    expect(decodeHello(bytesOf({ ...hello, [name]: undefined })), name).toBe(null);
    expect(decodeHello(bytesOf({ ...hello, [name]: [] })), name).toBe(null);
  }
  const wrong: Partial<Hello>[] = [
    { node: 'a b' },
    { protocol: 2 },
    { life: '' },
    { heartbeatMs: 0 },
    { heartbeatMs: 60_001 },
    { next: -1 },
    { next: 0.5 },
    { keys: [2 ** 32] },
    { keys: [-1] },
    { keys: ['7'] as unknown as number[] },
    { keys: 7 as unknown as number[] },
    { keys: Array.from({ length: 17 }, () => 7) },
  ];
  for (const change of wrong) expect(decodeHello(bytesOf({ ...hello, ...change }))).toBe(null);
  for (const value of [null, 1, 'x', []]) expect(decodeHello(bytesOf(value))).toBe(null);
  expect(decodeHello(bytesOf({ ...hello, long: 'x'.repeat(4096) }))).toBe(null);
});

test('decodeHello refuses or reads every prefix, flipped bit and random bytes, and never throws', () => {
  const bytes = encodeHello(hello);
  for (let end = 0; end < bytes.length; end++) expect(decodeHello(bytes.subarray(0, end))).toBe(null);
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    decodeHello(flipped);
  }
  const random = new Random(2);
  for (let i = 0; i < 1000; i++)
    expect(decodeHello(Uint8Array.from({ length: random.below(100) }, () => random.below(256)))).toBe(null);
});

test('commonProtocol finds the best version in common', () => {
  expect([commonProtocol('1'), commonProtocol('3,2,1'), commonProtocol('2'), commonProtocol('')]).toEqual([
    1,
    1,
    null,
    null,
  ]);
});
