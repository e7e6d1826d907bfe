import { expect, test } from 'vitest';
import { hashKey } from '../kernel/batches/hash-key.ts';
import {
  checkEnvelope,
  checkLength,
  checkSum,
  DELTA_MAGIC,
  decoding,
  FRAME_MAGIC,
  FrameError,
  hasMagic,
  SYNC_MAGIC,
  VERSION,
  wholeSum,
} from './envelope.ts';

test('the magics are the letters of docs/spec', () => {
  const letters = [FRAME_MAGIC, DELTA_MAGIC, SYNC_MAGIC].map((magic) => String.fromCharCode(...magic));
  expect(letters).toEqual(['BLMY', 'BLMD', 'BLMS']);
});

test('checkEnvelope takes the magic and the version, and says what is wrong with others', () => {
  const bytes = Uint8Array.of(...FRAME_MAGIC, VERSION, 7, 7);
  expect(() => checkEnvelope(FRAME_MAGIC, bytes, 7)).not.toThrow();
  expect(hasMagic(FRAME_MAGIC, bytes)).toBe(true);
  expect(hasMagic(DELTA_MAGIC, bytes)).toBe(false);
  expect(hasMagic(FRAME_MAGIC, bytes.subarray(0, 3))).toBe(false);
  expect(() => checkEnvelope(DELTA_MAGIC, bytes, 7)).toThrow(
    'Cannot decode frame: expected the magic bytes 66,76,77,68, got 89 (at byte 3)',
  );
  expect(() => checkEnvelope(FRAME_MAGIC, bytes, 8)).toThrow(
    'Cannot decode frame: expected at least 8 bytes, got 7 (at byte 7)',
  );
  bytes[4] = 2;
  expect(() => checkEnvelope(FRAME_MAGIC, bytes, 7)).toThrow('expected version 1, got 2 (at byte 4)');
  expect(() => checkEnvelope(FRAME_MAGIC, undefined as never, 7)).toThrow(TypeError);
});

test('checkLength says where bytes are missing, or where there are too many', () => {
  expect(() => checkLength(8, 8)).not.toThrow();
  expect(() => checkLength(7, 8)).toThrow('expected 8 bytes, got 7 (at byte 7)');
  expect(() => checkLength(9, 8)).toThrow('expected 8 bytes, got 9 (at byte 8)');
});

test('wholeSum is the lower half of Forge64 with seed 0', () => {
  const bytes = Uint8Array.from({ length: 9000 }, (_, i) => i);
  expect(wholeSum(bytes)).toBe(hashKey(bytes).low);
  expect(() => checkSum(1, 2, 30)).toThrow('expected checksum 2, got 1 (at byte 30)');
});

test('decoding: an error says what was being decoded, which part, and where in the whole', () => {
  const fail = () => {
    throw new FrameError('hash', 7, 'expected hash 1, got 9');
  };
  expect(() => decoding('delta', fail)).toThrow('Cannot decode delta: expected hash 1, got 9 (at byte 7)');
  try {
    decoding('sync message', fail, 'part 2: ', 100);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ code: 'hash', offset: 107, reason: 'part 2: expected hash 1, got 9' });
  }
  const other = new RangeError('x');
  expect(() =>
    decoding('delta', () => {
      throw other;
    }),
  ).toThrow(other);
  expect(decoding('delta', () => 5)).toBe(5);
});
