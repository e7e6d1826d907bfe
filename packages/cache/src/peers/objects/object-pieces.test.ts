import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PIECE_BYTES, PieceError, PieceReader, PieceWriter } from './object-pieces.ts';

const key = Buffer.alloc(32, 7);
const context = createHash('sha256').update('context').digest();

/** A body on the wire: its pieces, and the trailer. */
function written(pieces: readonly Buffer[]): { readonly wire: Buffer; readonly trailer: string } {
  const writer = new PieceWriter(key, context);
  const wire = pieces.map((bytes) => {
    const { before, after } = writer.around(bytes);
    return Buffer.concat([before, bytes, after]);
  });
  return { wire: Buffer.concat(wire), trailer: writer.trailer() };
}

/** Reads a body that comes in parts of `step` bytes. */
function readAll(wire: Buffer, trailer: string | undefined, step = wire.length, from = context): Buffer {
  const reader = new PieceReader(key, from);
  const checked: Buffer[] = [];
  for (let at = 0; at < wire.length; at += step) checked.push(...reader.take(wire.subarray(at, at + step)));
  reader.end(trailer);
  return Buffer.concat(checked);
}

const pieces = [Buffer.from('one'), Buffer.alloc(0), Buffer.from('two and more'), Buffer.from('three')];
const whole = Buffer.concat(pieces);

describe('PieceReader', () => {
  test('returns the bytes that PieceWriter was given, whatever parts they come in', () => {
    const { wire, trailer } = written(pieces);
    for (let step = 1; step <= wire.length; step++) expect(readAll(wire, trailer, step)).toEqual(whole);
  });

  test('reads an empty body and the longest piece', () => {
    const empty = written([]);
    expect(readAll(empty.wire, empty.trailer)).toHaveLength(0);
    const longest = Buffer.alloc(PIECE_BYTES, 'x');
    const { wire, trailer } = written([longest]);
    expect(readAll(wire, trailer, 1000).equals(longest)).toBe(true);
    const writer = new PieceWriter(key, context);
    expect(() => writer.around(Buffer.alloc(PIECE_BYTES + 1))).toThrow('Cannot send a piece');
  });

  test('lets bytes out only when their piece was checked, and knows their digest', () => {
    const { wire } = written(pieces);
    const reader = new PieceReader(key, context);
    expect(reader.take(wire.subarray(0, 7 + 15))).toEqual([]);
    expect(reader.proven).toBe(false);
    expect(reader.take(wire.subarray(22, 23))).toEqual([Buffer.from('one')]);
    expect([reader.proven, reader.bytes]).toEqual([true, 3]);
    reader.take(wire.subarray(23, 60));
    expect(reader.digest).toEqual(createHash('sha256').update('one').digest());
  });

  test('a beat proves the head before the first byte', () => {
    const reader = new PieceReader(key, context);
    reader.take(new PieceWriter(key, context).beat());
    expect([reader.proven, reader.bytes]).toEqual([true, 0]);
    const other = new PieceReader(key, createHash('sha256').update('another head').digest());
    expect(() => other.take(new PieceWriter(key, context).beat())).toThrow(PieceError);
  });

  test('refuses every flipped bit, and lets out no byte of a damaged piece', () => {
    const { wire, trailer } = written(pieces);
    for (let bit = 0; bit < wire.length * 8; bit++) {
      const damaged = Buffer.from(wire);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const reader = new PieceReader(key, context);
      const out: Buffer[] = [];
      const read = () => {
        for (let at = 0; at < damaged.length; at++) out.push(...reader.take(damaged.subarray(at, at + 1)));
        reader.end(trailer);
      };
      expect(read).toThrow(PieceError);
      expect(whole.subarray(0, reader.bytes)).toEqual(Buffer.concat(out));
    }
  });

  test('refuses every strict prefix, also one that ends after a piece', () => {
    const { wire, trailer } = written(pieces);
    for (let length = 0; length < wire.length; length++) {
      expect(() => readAll(wire.subarray(0, length), trailer)).toThrow(PieceError);
    }
  });

  test('refuses another trailer, none, and the check code of a piece in the place of the end', () => {
    const { wire, trailer } = written(pieces);
    const last = wire.subarray(-16).toString('base64url');
    const wrong = [
      undefined,
      '',
      trailer.slice(0, -1),
      `${trailer}A`,
      trailer.replace(/mac=.*/, `mac=${last}`),
      trailer.replace(/mac=.*/, `mac=${'A'.repeat(22)}`),
      written([Buffer.from('another')]).trailer,
    ];
    for (const each of wrong) expect(() => readAll(wire, each)).toThrow(PieceError);
  });

  test('refuses a body for another request, or under another key', () => {
    const { wire, trailer } = written(pieces);
    expect(() => readAll(wire, trailer, 9, createHash('sha256').digest())).toThrow(PieceError);
    const reader = new PieceReader(Buffer.alloc(32, 8), context);
    expect(() => reader.take(wire)).toThrow(PieceError);
  });

  test('refuses a length beyond the limit before a byte of it has come', () => {
    const reader = new PieceReader(key, context);
    expect(() => reader.take(Buffer.from([0, 1, 0, 1]))).toThrow('expected at most 65536 bytes, got 65537');
  });
});
