import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { PackagesScanner } from './packages-scanner.ts';

const hex = (text: string) => createHash('sha256').update(text).digest('hex');

function scan(text: string, pieceBytes = Number.POSITIVE_INFINITY): [string, string][] {
  const found: [string, string][] = [];
  const scanner = new PackagesScanner((reference, digest) => found.push([reference, digest.hex]));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.add(bytes.subarray(at, at + pieceBytes));
  scanner.end();
  return found;
}

test('stanzas with a file and a digest are found, in pieces of any length', () => {
  const text = [
    `Package: a\nFilename: pool/a.deb\nSHA256: ${hex('a')}\nDescription: x\n SHA256: ${hex('x')}\n`,
    `SHA256: ${hex('b')}\nFilename: pool/b.deb\nLong: ${'x'.repeat(10_000)}\n`,
    `Filename: pool/none.deb\nSHA1: ${hex('c').slice(0, 40)}\n`,
    `Filename: pool/short.deb\nSHA256: ${hex('d').slice(1)}\n`,
    `SHA256: ${hex('e')}\n`,
    `Filename: pool/last.deb\nSHA256: ${hex('f')}`,
  ].join('\n');
  const expected = [
    ['pool/a.deb', hex('a')],
    ['pool/b.deb', hex('b')],
    ['pool/last.deb', hex('f')],
  ];
  for (const length of [1, 5, 64, 4096, 1e9]) expect(scan(text, length), String(length)).toEqual(expected);
});

test('a line without an end takes no memory', () => {
  const scanner = new PackagesScanner(() => {});
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 1000; at++) scanner.add(Buffer.alloc(65_536, 0x61));
  scanner.end();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(60e6);
});
