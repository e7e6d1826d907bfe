/**
 * The contract of everything that is written to bytes and read back, perhaps from an untrusted
 * source.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { decodeFilterFrom } from '../../src/filters/filter-assembler.ts';
import { frameChunks } from '../../src/frames/frame-chunks.ts';
import { readFrameHead } from '../../src/frames/frame-head.ts';
import { FrameError, type HashScheme, SecretKey } from '../../src/index.ts';
import { awkwardStrings } from '../keys.ts';
import { type CodecSubject, inBothKernels } from './subject.ts';

export interface Golden {
  /**
   * The frame of an unseeded filter for 20 keys at 1 % with the keys 'key-0' … 'key-19', in hex.
   */
  readonly hex: string;
  /**
   * The first ten numbers i for which 'other-i' is a false positive in a structure of 'key-0' …
   * 'key-999' at 10 %.
   */
  readonly falsePositives: readonly number[];
}

const SECRET_BYTES = Uint8Array.from({ length: 16 }, (_, i) => 3 * i + 5);
const SECRET = new SecretKey(SECRET_BYTES);

export function codecContract<S extends { encode(): Uint8Array; readonly scheme: HashScheme }>(
  subject: CodecSubject<S>,
  golden: Golden,
): void {
  const { build, decode, answers } = subject;
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => `key-${i}`);
  const small = () => build(numbered(20), { falsePositiveRate: 0.01 });

  inBothKernels(`${subject.name}: frames`, (kernel) => {
    test('round trip: same bytes, same answers', () => {
      for (const capacity of [1, 2, 7, 64, 1000, 30_000]) {
        const keys = awkwardStrings(capacity, capacity);
        const structure = build(keys, { falsePositiveRate: 0.03 });
        const bytes = structure.encode();
        const again = decode(bytes);
        expectSameBytes(again.encode(), bytes);
        expect(String(again)).toBe(String(structure));
        expect(answers(again, keys).every(Boolean)).toBe(true);
        const probes = awkwardStrings(500, 9);
        expect(answers(again, probes)).toEqual(answers(structure, probes));
      }
    });

    test('in chunks: the bytes of encode, and the same filter again', async () => {
      for (const capacity of [1, 64, 1000]) {
        const structure = build(awkwardStrings(capacity, capacity), { falsePositiveRate: 0.03 });
        const bytes = structure.encode();
        for (const chunkBytes of [1, 333, 4096, 2 ** 20]) {
          const chunks = [...frameChunks(structure, { chunkBytes })];
          expectSameBytes(Uint8Array.from(chunks.flatMap((chunk) => [...chunk])), bytes);
          const again = await decodeFilterFrom(chunks);
          expectSameBytes(again.encode(), bytes);
          expect(String(again)).toBe(String(structure));
        }
        expect(readFrameHead(bytes).plainLength).toBe(bytes.length);
      }
    });

    test('the decoded filter is independent of the bytes it came from, at any alignment', () => {
      const bytes = small().encode();
      const shifted = new Uint8Array(bytes.length + 3).subarray(3);
      shifted.set(bytes);
      const filter = decode(shifted);
      shifted.fill(0xff);
      expectSameBytes(filter.encode(), bytes);
    });

    test('golden bytes: what was written once can be read forever, and is written the same again', () => {
      const bytes = Uint8Array.from(golden.hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
      expect(answers(decode(bytes), numbered(20)).every(Boolean)).toBe(true);
      expect(decode(bytes).encode()).toEqual(bytes);
      expect(small().encode()).toEqual(bytes);
      const filter = build(numbered(1000), { falsePositiveRate: 0.1 });
      const found: number[] = [];
      for (let i = 0; found.length < 10; i++) if (answers(filter, [`other-${i}`])[0]) found.push(i);
      expect(found).toEqual(golden.falsePositives);
    });

    test('every strict prefix is a FrameError', () => {
      const bytes = small().encode();
      for (let length = 0; length < bytes.length; length++) {
        expect(() => decode(bytes.subarray(0, length)), `${length} bytes`).toThrow(FrameError);
      }
      const longer = new Uint8Array(bytes.length + 1);
      longer.set(bytes);
      expect(code(() => decode(longer))).toBe('trailing');
    });

    test('every flipped bit is a FrameError', () => {
      const bytes = small().encode();
      for (let bit = 0; bit < 8 * bytes.length; bit++) {
        bytes[bit >> 3] ^= 1 << (bit & 7);
        expect(() => decode(bytes), `bit ${bit}`).toThrow(FrameError);
        bytes[bit >> 3] ^= 1 << (bit & 7);
      }
      expect(decode(bytes).encode()).toEqual(bytes);
    });

    test('random and mutated bytes are FrameErrors, whatever they declare, and allocate nothing large', () => {
      const random = new Random(31);
      const original = small().encode();
      const rounds = withEffort(kernel === 'wasm' ? 20_000 : 5000);
      for (let round = 0; round < rounds; round++) {
        const bytes = round % 2 === 0 ? random.bytes(random.below(80)) : Uint8Array.from(original);
        if (round % 4 === 0) bytes.set(original.subarray(0, Math.min(16, bytes.length)));
        for (let n = random.below(6); n >= 0 && bytes.length > 0; n--) {
          bytes[random.below(Math.min(bytes.length, 40))] = random.pick([
            0,
            1,
            127,
            128,
            255,
            random.bits() & 255,
          ]);
        }
        try {
          expectSameBytes(decode(bytes).encode(), original); // mutated into itself
        } catch (error) {
          if (!(error instanceof FrameError)) throw error;
          expect(error.offset).toBeLessThanOrEqual(bytes.length);
        }
      }
    });

    test('says what is wrong', () => {
      const bytes = small().encode();
      const changed = (at: number, value: number) => Object.assign(Uint8Array.from(bytes), { [at]: value });
      expect(code(() => decode(changed(0, 0)))).toBe('not-a-frame');
      expect(code(() => decode(changed(4, 2)))).toBe('version');
      expect(code(() => decode(changed(5, 200)))).toBe('structure');
      expect(code(() => decode(changed(7, 9)))).toMatch(/hash|checksum/);
      expect(code(() => decode(changed(bytes.length - 1, bytes[bytes.length - 1] ^ 1)))).toBe('checksum');
      expect(() => decode(bytes.subarray(0, 7))).toThrow(/expected at least \d+ bytes, got 7/);
      expect(() => decode('text' as never)).toThrow(TypeError);
      expect(() => decode(bytes, { seed: 1 } as never)).toThrow(/got option 'seed'/);
    });

    test.runIf(subject.seedable)('a seed is in the frame, a key never is, and a wrong key is told', () => {
      const options = { falsePositiveRate: 0.01 };
      const keys = ['a', ...numbered(49)];
      const seeded = build(keys, { ...options, seed: 0x0123456789abcdefn });
      expect(decode(seeded.encode()).scheme.id).toBe('forge64/123456789abcdef');
      expect(answers(decode(seeded.encode()), ['a'])[0]).toBeTruthy();

      const keyed = build(keys, { ...options, key: SECRET });
      const bytes = keyed.encode();
      expect(answers(decode(bytes, { key: SECRET }), ['a'])[0]).toBeTruthy();
      expect(code(() => decode(bytes))).toBe('key');
      expect(code(() => decode(bytes, { key: new SecretKey(Uint8Array.from(SECRET_BYTES).reverse()) }))).toBe(
        'key',
      );
      expect(code(() => decode(seeded.encode(), { key: SECRET }))).toBe('key');
      const text = String.fromCharCode(...bytes);
      for (let i = 0; i + 4 <= 16; i++) {
        expect(text.includes(String.fromCharCode(...SECRET_BYTES.subarray(i, i + 4)))).toBe(false);
      }
      expect(JSON.stringify(keyed, (_, v) => (typeof v === 'bigint' ? `${v}` : v))).not.toContain(
        String([...SECRET_BYTES]),
      );
    });
  });
}

function code(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof FrameError) return error.code;
    throw error;
  }
  return 'no error';
}
