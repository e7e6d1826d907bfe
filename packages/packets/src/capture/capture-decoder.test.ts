import { expect, test } from 'vitest';
import { CaptureDecoder } from './capture-decoder.ts';
import { PacketBatch } from './packet-batch.ts';

/** A pcap file with packets of the given lengths, whose bytes are their number. */
function pcapOf(lengths: readonly number[], littleEndian: boolean, magic = 0xa1b2c3d4): Uint8Array {
  const file = new Uint8Array(24 + lengths.reduce((sum, length) => sum + 16 + length, 0));
  const view = new DataView(file.buffer);
  view.setUint32(0, magic, littleEndian);
  view.setUint16(4, 2, littleEndian);
  view.setUint16(6, 4, littleEndian);
  view.setUint32(16, 65_535, littleEndian);
  view.setUint32(20, 1, littleEndian);
  let at = 24;
  lengths.forEach((length, number) => {
    view.setUint32(at, 1_700_000_000 + number, littleEndian);
    view.setUint32(at + 4, 123_456, littleEndian);
    view.setUint32(at + 8, length, littleEndian);
    view.setUint32(at + 12, length + 100, littleEndian);
    file.fill(number, at + 16, at + 16 + length);
    at += 16 + length;
  });
  return file;
}

/** All packets of a file that comes in chunks of `size` bytes, as text. */
function decodeAll(file: Uint8Array, size: number, capacity = 4): string[] {
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch(capacity);
  const packets: string[] = [];
  for (let at = 0; at < file.length; at += size) {
    decoder.push(file.subarray(at, at + size));
    while (decoder.next(batch)) {
      for (let i = 0; i < batch.count; i++) {
        const bytes = batch.bytes.subarray(batch.offset[i], batch.offset[i] + batch.capturedLength[i]);
        packets.push(`${batch.seconds[i]}.${batch.nanoseconds[i]} ${batch.wireLength[i]} ${bytes}`);
      }
    }
  }
  decoder.end();
  return packets;
}

const LENGTHS = [60, 0, 1, 1500, 17, 0, 0, 90, 400];

test('CaptureDecoder delivers the same packets for chunks of any size, in both byte orders', () => {
  const expected = LENGTHS.map(
    (length, number) =>
      `${1_700_000_000 + number}.123456000 ${length + 100} ${new Uint8Array(length).fill(number)}`,
  );
  for (const littleEndian of [true, false]) {
    const file = pcapOf(LENGTHS, littleEndian);
    for (const size of [1, 2, 3, 7, 16, 17, 64, 100, 1000, file.length]) {
      for (const capacity of [1, 3, 100]) expect(decodeAll(file, size, capacity)).toEqual(expected);
    }
  }
});

test('CaptureDecoder reads nanoseconds as they are', () => {
  expect(decodeAll(pcapOf([2], true, 0xa1b23c4d), 1000)).toEqual(['1700000000.123456 102 0,0']);
});

test('CaptureDecoder delivers a packet when its last byte is there, without the next chunk', () => {
  const file = pcapOf([30, 30], true);
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch();
  let delivered = 0;
  for (let at = 0; at < 24 + 46; at++) {
    decoder.push(file.subarray(at, at + 1));
    if (decoder.next(batch)) delivered += batch.count;
    expect(delivered).toBe(at === 24 + 45 ? 1 : 0);
  }
});

test('CaptureDecoder delivers whole packets of every strict prefix, and says that it was cut', () => {
  const file = pcapOf([5, 0, 9], true);
  const ends = [24, 45, 61, 86];
  for (let length = 0; length < file.length; length++) {
    const decoder = new CaptureDecoder();
    const batch = new PacketBatch();
    decoder.push(file.subarray(0, length));
    let packets = 0;
    while (decoder.next(batch)) packets += batch.count;
    expect(packets).toBe(Math.max(0, ends.filter((end) => end <= length).length - 1));
    if (ends.includes(length)) decoder.end();
    else if (length === 0)
      expect(() => decoder.end()).toThrow(expect.objectContaining({ code: 'not-a-capture' }));
    else expect(() => decoder.end()).toThrow(expect.objectContaining({ code: 'truncated', offset: length }));
  }
});

test('CaptureDecoder throws at a damaged record after the packets before it', () => {
  const file = pcapOf([5, 6, 7], true);
  new DataView(file.buffer).setUint32(24 + 21 + 22 + 8, 0x7fff_ffff, true);
  for (const size of [1, 40, file.length]) {
    const decoder = new CaptureDecoder();
    const batch = new PacketBatch();
    let packets = 0;
    const read = () => {
      for (let at = 0; at < file.length; at += size) {
        decoder.push(file.subarray(at, at + size));
        while (decoder.next(batch)) packets += batch.count;
      }
    };
    expect(read).toThrow(expect.objectContaining({ code: 'malformed', offset: 67 }));
    expect(packets).toBe(2);
  }
});

test('CaptureDecoder says which packing it was given', () => {
  const decoder = new CaptureDecoder();
  decoder.push(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0));
  expect(() => decoder.next(new PacketBatch())).toThrow(
    'Cannot read the capture: expected the first bytes of pcap or pcapng, got gzip (byte 0)',
  );
});
