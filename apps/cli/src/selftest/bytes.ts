/** Checks of bytes: pinned frames, round trips, and the refusal of damaged frames. */

import { BloomFilter, FrameError, hashKey, RangeSketch } from 'bloomery';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { SquidDigest } from 'bloomery/formats/squid';
import { payloadOf, readFrameHead } from 'bloomery/frames';
import { compressedBits, compressedBitsDeviation } from 'bloomery/math';
import { applyDelta, compressFrame, expandFrame, makeDelta, OtherSnapshotError } from 'bloomery/wire';
import { askerOf } from '../checking/ask.ts';
import {
  EARLIER_FRAMES,
  GOLDEN_FRAMES,
  GOLDEN_HASHES,
  RANGE_FRAME,
  WORKED_EXAMPLE,
} from './golden-frames.ts';
import { asFile, decodeSample, SAMPLE_KEY, SAMPLES } from './sample-filters.ts';
import { assert, assertSameBytes, keysUpTo, type SelfCheck } from './self-check.ts';

export const BYTE_CHECKS: readonly SelfCheck[] = [
  { name: 'hashes of known keys', run: checkHashes },
  { name: 'pinned bytes of every structure', run: checkGolden },
  { name: 'frames, there and back', run: checkFrames },
  { name: 'coded frames, there and back', run: checkCoded },
  { name: 'deltas, there and back', run: checkDeltas },
  { name: 'files of other systems, there and back', run: checkForeign },
  { name: 'damaged frames are refused', run: checkDamage },
];

/** Number of keys in the pinned frames. */
const GOLDEN_KEYS = 20;

function checkHashes(): string {
  for (const { key, seed, hash } of GOLDEN_HASHES) {
    assert(hex(hashKey(key, { seed })) === hash, `Forge64 of ${JSON.stringify(key)} with seed ${seed}`);
  }
  // Aumasson and Bernstein, SipHash (2012), appendix A: the key 00…0f, the message 00…0e.
  const message = Uint8Array.from({ length: 15 }, (_, i) => i);
  assert(
    hex(hashKey(message, SAMPLE_KEY.scheme)) === 'a129ca6149be45e5',
    'SipHash-2-4 of the example in its paper',
  );
  return `${GOLDEN_HASHES.length} of Forge64, one of SipHash-2-4`;
}

function hex({ low, high }: { readonly low: number; readonly high: number }): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

function checkGolden(): string {
  const example = new BloomFilter({ bits: 194, hashes: 6, capacity: 20 });
  example.addMany(keysUpTo(20));
  assertSameBytes(
    example.encode(),
    Buffer.from(WORKED_EXAMPLE, 'hex'),
    'the worked example of docs/spec/frame.md',
  );
  const names = Object.keys(SAMPLES);
  for (const name of names) {
    const golden = Buffer.from(GOLDEN_FRAMES[name] ?? '', 'hex');
    assertSameBytes(SAMPLES[name](GOLDEN_KEYS).encode(), golden, name);
    assertFinds(name, Uint8Array.from(golden), GOLDEN_KEYS);
  }
  for (const [name, earlier] of Object.entries(EARLIER_FRAMES)) {
    assertFinds(name, Uint8Array.from(Buffer.from(earlier, 'hex')), GOLDEN_KEYS);
  }
  const ranges = new RangeSketch({ universeBits: 8, exactBits: 2, width: 8, depth: 2 });
  for (let i = 0; i < GOLDEN_KEYS; i++) ranges.add((i * i) % 256);
  assertSameBytes(ranges.encode(), Buffer.from(RANGE_FRAME, 'hex'), 'range sketch');
  const earlier = Object.keys(EARLIER_FRAMES).length;
  return `${names.length + 1} frames, ${earlier} of an earlier form, and the worked example`;
}

/** Asserts that a frame, read back, has all its keys. */
function assertFinds(name: string, frame: Uint8Array, count: number): void {
  const { ask } = askerOf(asFile(name, decodeSample(name, frame)));
  const lines = Buffer.from(keysUpTo(count).join('\n'));
  assert(!ask({ lines: Uint8Array.from(lines) }).includes(0), `${name}: a key is not found`);
}

function checkFrames(): string {
  let bytes = 0;
  for (const [name, make] of Object.entries(SAMPLES)) {
    const frame = make(COUNT).encode();
    assertSameBytes(decodeSample(name, frame).encode(), frame, name);
    assertFinds(name, frame, COUNT);
    bytes += frame.length;
  }
  return `${Object.keys(SAMPLES).length} structures, ${bytes.toLocaleString('en-US')} bytes`;
}

function checkCoded(): string {
  let coded = 0;
  for (const name of [...Object.keys(SAMPLES), 'sparse']) {
    const frame = name === 'sparse' ? sparse(COUNT).encode() : SAMPLES[name](COUNT).encode();
    for (const effort of ['small', 'fast'] as const) {
      const message = compressFrame(frame, { effort });
      assertSameBytes(expandFrame(message), frame, `${name}, ${effort}`);
      assert(
        message.length <= 1.01 * frame.length,
        `${name}, ${effort}: ${message.length} bytes for ${frame.length}`,
      );
      coded++;
    }
  }
  // Compressed, table I: 14 bits per key in memory, 7.92 sent. The coder may exceed the theoretical
  // size by eight bytes.
  const frame = sparse(COUNT).encode();
  const plain = frame.length;
  const message = compressFrame(frame).length;
  const expected = plain - payloadOf(frame).length + compressedBits(14 * COUNT, 2, COUNT) / 8;
  const deviation = compressedBitsDeviation(14 * COUNT, 2, COUNT) / 8;
  const beyond = Math.abs(message - expected) - 5 * deviation;
  assert(
    beyond < 8,
    `a filter of 14 bits per key is sent in ${message} bytes, expected ${Math.round(expected)}`,
  );
  return `${coded} messages; ${plain.toLocaleString('en-US')} bytes sent in ${message.toLocaleString('en-US')}`;
}

/** 14 bits per key and two hashes (compressed, table I). */
function sparse(count: number): BloomFilter {
  const filter = new BloomFilter({ bits: 14 * count, hashes: 2 });
  filter.addMany(keysUpTo(count));
  return filter;
}

function checkDeltas(): string {
  const from = sparse(COUNT);
  const to = from.copy();
  to.addMany(keysUpTo(COUNT + COUNT / 20).slice(COUNT));
  const delta = makeDelta(from.encode(), to.encode());
  assertSameBytes(applyDelta(from.encode(), delta), to.encode(), 'delta');
  let refused = false;
  try {
    applyDelta(to.encode(), delta);
  } catch (error) {
    refused = error instanceof OtherSnapshotError;
  }
  assert(refused, 'a delta was applied to a snapshot that it was not made from');
  return `5 % more keys in ${delta.length.toLocaleString('en-US')} bytes`;
}

function checkForeign(): string {
  const capacity = 1000;
  const falsePositiveRate = 0.01;
  const keys = keysUpTo(capacity);
  const check = <F extends { add(key: string): unknown; has(key: string): boolean; encode(): Uint8Array }>(
    filter: F,
    decode: (bytes: Uint8Array) => F,
    toKey = (key: string) => key,
  ) => {
    for (const key of keys) filter.add(toKey(key));
    const bytes = filter.encode();
    const back = decode(bytes);
    assertSameBytes(back.encode(), bytes, filter.constructor.name);
    assert(
      keys.every((key) => back.has(toKey(key))),
      `${filter.constructor.name}: a key is not found`,
    );
  };
  const size = { capacity, falsePositiveRate };
  check(GuavaFilter.create({ ...size, funnel: 'utf8' }), (bytes) =>
    GuavaFilter.decode(bytes, { funnel: 'utf8' }),
  );
  check(RedisBloomFilter.create(size), (bytes) => RedisBloomFilter.decode(bytes));
  check(ParquetFilter.create(size), (bytes) => ParquetFilter.decode(bytes));
  check(DcsoFilter.create(size), (bytes) => DcsoFilter.decode(bytes));
  check(GoBloomFilter.create(size), (bytes) => GoBloomFilter.decode(bytes));
  check(
    SquidDigest.create({ capacity }),
    (bytes) => SquidDigest.decode(bytes),
    (key) => `http://example.org/${key}`,
  );
  return 'Guava, RedisBloom, Parquet, DCSO, Go, Squid';
}

function checkDamage(): string {
  let refused = 0;
  const refuse = (name: string, frame: Uint8Array, what: string) => {
    try {
      decodeSample(name, expandIfCoded(frame));
    } catch (error) {
      if (error instanceof FrameError) {
        refused++;
        return;
      }
      throw error;
    }
    throw new Error(`${name}: ${what} was read as if nothing had happened`);
  };
  for (const name of Object.keys(SAMPLES)) {
    const golden = Uint8Array.from(Buffer.from(GOLDEN_FRAMES[name] ?? '', 'hex'));
    for (const frame of new Set([golden, compressFrame(golden)])) {
      for (let at = 0; at < frame.length; at++) {
        const damaged = frame.slice();
        damaged[at] ^= 1 << (at % 8);
        refuse(name, damaged, `a flipped bit in byte ${at}`);
        refuse(name, frame.subarray(0, at), `a frame cut off at ${at}`);
      }
    }
  }
  return `${refused.toLocaleString('en-US')} of them`;
}

function expandIfCoded(frame: Uint8Array): Uint8Array {
  return readFrameHead(frame).coded ? expandFrame(frame) : frame;
}

const COUNT = 10_000;
