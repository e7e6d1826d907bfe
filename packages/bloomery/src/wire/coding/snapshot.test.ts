import { expect, test } from 'vitest';
import { SAMPLES } from '../../../test/sample-filters.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { FrameError, writeChecksum } from '../../frames/envelope.ts';
import { checkPlain } from '../../frames/frame.ts';
import { compressFrame } from './compressed-frame.ts';
import { frameSum, Snapshot } from './snapshot.ts';

test('Snapshot describes the frame of every structure', () => {
  for (const [name, make] of Object.entries(SAMPLES)) {
    const frame = make().encode();
    const snapshot = new Snapshot(frame);
    const { payload, bits, start } = checkPlain(snapshot.kind, frame);
    expect([snapshot.kind.name, snapshot.bits, snapshot.head.start], name).toEqual([name, bits, start]);
    expect(snapshot.payload, name).toEqual(payload);
    expect(snapshot.sum, name).toBe(frameSum(frame));
    expect(snapshot.check(), name).toBe(snapshot);
  }
});

test('xor flips the given bits, gives a sound frame, and leaves the snapshot as it was', () => {
  const filter = new BloomFilter({ bits: 75, hashes: 2 });
  filter.add('a');
  const frame = filter.encode();
  const snapshot = new Snapshot(frame);
  const { sum } = snapshot;
  filter.add('b');
  const target = new Snapshot(filter.encode());
  const changed = new Uint32Array(3);
  const difference = snapshot.payload.map((byte, i) => byte ^ target.payload[i]);
  new Uint8Array(changed.buffer).set(difference);
  expect(snapshot.xor(changed).check().frame).toEqual(target.frame);
  expect(snapshot.xor(changed).xor(changed).sum).toBe(sum);
  expect(snapshot.xor(changed).sum).toBe(target.sum);
  expect([snapshot.sum, frameSum(frame)]).toEqual([sum, sum]);
});

test('a frame that is coded, cut off or too long is no snapshot, and check finds damage', () => {
  const frame = new BloomFilter({ bits: 75, hashes: 2 }).encode();
  expect(() => new Snapshot(compressFrame(frame))).toThrow(FrameError);
  expect(() => new Snapshot(frame.subarray(0, -1))).toThrow(/expected 42 bytes, got 41/);
  expect(() => new Snapshot(Uint8Array.of(...frame, 0))).toThrow(/expected 42 bytes, got 43/);
  expect(() => new Snapshot('x' as never)).toThrow(TypeError);
  const damaged = frame.slice();
  damaged[30] ^= 1;
  const snapshot = new Snapshot(damaged);
  expect(snapshot.sum).not.toBe(frameSum(frame));
  expect(() => snapshot.check()).toThrow(/checksum/);
  const stray = frame.slice();
  stray[stray.length - 5] |= 0x80;
  writeChecksum(stray);
  expect(() => new Snapshot(stray).check()).toThrow(/expected zeros beyond the last of 75 bits/);
});
