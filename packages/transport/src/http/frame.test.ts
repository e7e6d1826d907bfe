import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { FrameReader, frameHead, HEARTBEAT, HELLO, MAC_BYTES, MESSAGE, StreamError } from './frame.ts';

const mac = Buffer.alloc(MAC_BYTES, 0xaa);
const frame = (kind: number, topic: number, payload: Uint8Array) =>
  Buffer.concat([frameHead(kind, topic, payload.length), payload, mac]);

const stream = Buffer.concat([
  frame(HELLO, 0, Buffer.from('{}')),
  frame(MESSAGE, 3, Buffer.from('abc')),
  frame(HEARTBEAT, 0, new Uint8Array(0)),
  frame(MESSAGE, 0, new Uint8Array(0)),
  frame(77, 0, Buffer.from('later')),
]);

const readable = (frames: ReturnType<FrameReader['push']>) =>
  frames.map(({ kind, topic, payload, mac }) => [kind, topic, Buffer.from(payload).toString(), mac.length]);

const all = [
  [HELLO, 0, '{}', 16],
  [MESSAGE, 3, 'abc', 16],
  [HEARTBEAT, 0, '', 16],
  [MESSAGE, 0, '', 16],
  [77, 0, 'later', 16],
];

test('FrameReader reads frames, however they arrive', () => {
  expect(readable(new FrameReader().push(stream))).toEqual(all);
  const byBytes = new FrameReader();
  expect(readable([...stream].flatMap((byte) => byBytes.push(Uint8Array.of(byte))))).toEqual(all);
  for (let cut = 0; cut <= stream.length; cut++) {
    const reader = new FrameReader();
    const frames = [...reader.push(stream.subarray(0, cut)), ...reader.push(stream.subarray(cut))];
    expect(readable(frames)).toEqual(all);
  }
});

test('frameHead costs 22 bytes beside the payload of a message, and 21 in a heartbeat', () => {
  expect(frameHead(MESSAGE, 1, 100).length + MAC_BYTES).toBe(22);
  expect(frameHead(HEARTBEAT, 0, 0).length + MAC_BYTES).toBe(21);
});

test('FrameReader gives nothing for a prefix of a frame', () => {
  const one = frame(MESSAGE, 3, Buffer.from('abc'));
  for (let end = 0; end < one.length; end++) expect(new FrameReader().push(one.subarray(0, end))).toEqual([]);
});

test('FrameReader refuses a wrong length as soon as it has come', () => {
  for (const length of [0, 16, 8 * 1024 * 1024 + 19, 0xffffffff]) {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(length);
    expect(() => new FrameReader().push(head), `${length}`).toThrow(
      `Cannot read a stream: expected a frame of 17 to 8388626 bytes, got ${length}`,
    );
  }
  const short = Buffer.concat([Buffer.of(17, 0, 0, 0, MESSAGE), mac]);
  expect(() => new FrameReader().push(short)).toThrow('expected a message with a topic, got 17 bytes');
});

test('FrameReader gives frames or a StreamError for flipped bits and random bytes', () => {
  const read = (bytes: Uint8Array) => {
    try {
      for (const { payload } of new FrameReader().push(bytes))
        expect(payload.length).toBeLessThanOrEqual(bytes.length);
    } catch (error) {
      expect(error).toBeInstanceOf(StreamError);
    }
  };
  for (let bit = 0; bit < 8 * stream.length; bit++) {
    const flipped = Buffer.from(stream);
    flipped[bit >> 3] ^= 1 << (bit & 7);
    read(flipped);
  }
  const random = new Random(1);
  for (let i = 0; i < 2000; i++)
    read(Uint8Array.from({ length: random.below(200) }, (_, at) => (at % 4 === 3 ? 0 : random.below(256))));
});
