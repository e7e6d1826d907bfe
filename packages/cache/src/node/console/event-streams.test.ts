import { expect, test } from 'vitest';
import { EventStreams, eventText, type StreamResponse } from './event-streams.ts';

/** A reader that takes bytes when the test says so. */
class Reader implements StreamResponse {
  writableLength = 0;
  destroyed = false;
  text = '';
  isEnded = false;
  #closed = () => {};

  write(bytes: Buffer): void {
    this.writableLength += bytes.length;
    this.text += bytes.toString();
  }

  end(bytes?: Buffer): void {
    if (bytes !== undefined) this.write(bytes);
    this.isEnded = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.#closed();
  }

  once(_event: 'close', listener: () => void): void {
    this.#closed = listener;
  }

  take(bytes = this.writableLength): void {
    this.writableLength -= bytes;
  }
}

const text = (value: string) => Buffer.from(value);
const never = (): Buffer => {
  throw new Error('expected no full state');
};

test('EventStreams sends a message to all readers, and to none that left', () => {
  const streams = new EventStreams();
  const [stays, leaves] = [new Reader(), new Reader()];
  streams.add(stays, text('a'), 0);
  streams.add(leaves, text('a'), 0);
  leaves.destroy();
  streams.send(text('b'), 1);
  expect([stays.text, leaves.text, streams.size]).toEqual(['ab', 'a', 1]);
});

test('EventStreams takes no reader that is gone already', () => {
  const streams = new EventStreams();
  const gone = new Reader();
  gone.destroy();
  streams.add(gone, text('a'), 0);
  expect(streams.size).toBe(0);
});

test('EventStreams leaves messages out for a slow reader, and tells it the state afterwards', () => {
  const streams = new EventStreams({ mostWaitingBytes: 10 });
  const slow = new Reader();
  const quick = new Reader();
  streams.add(slow, text('0123456789ab'), 0);
  streams.add(quick, text('0123456789ab'), 0);
  quick.take();
  streams.send(text('lost'), 1);
  expect([slow.text, quick.text]).toEqual(['0123456789ab', '0123456789ablost']);
  quick.take();
  // Below the limit, but not empty: what it has is still old.
  slow.take(8);
  streams.sweep(2, never);
  streams.send(text('lost as well'), 2);
  slow.take();
  let built = 0;
  streams.sweep(3, () => text(`reset ${++built}`));
  streams.send(text(' next'), 4);
  expect(slow.text).toBe('0123456789abreset 1 next');
});

test('EventStreams holds bounded memory for a reader that reads nothing', () => {
  const streams = new EventStreams();
  const dead = new Reader();
  streams.add(dead, text('a'), 0);
  for (let second = 0; second < 50; second++) streams.send(Buffer.alloc(50_000), second * 1000);
  expect(dead.writableLength).toBeGreaterThan(262_144);
  expect(dead.writableLength).toBeLessThanOrEqual(262_144 + 50_001);
});

test('EventStreams cuts off a reader that takes nothing for a minute, and no slower one', () => {
  const streams = new EventStreams();
  const [dead, slow] = [new Reader(), new Reader()];
  streams.add(dead, Buffer.alloc(1000), 0);
  streams.add(slow, Buffer.alloc(1000), 0);
  for (let second = 1; second < 60; second++) {
    slow.take(1);
    streams.sweep(second * 1000, never);
  }
  expect([dead.destroyed, slow.destroyed]).toEqual([false, false]);
  slow.take(1);
  streams.sweep(60_000, never);
  expect([dead.destroyed, slow.destroyed, streams.size]).toEqual([true, false, 1]);
});

test('EventStreams sends a comment where nothing was sent for 15 s', () => {
  const streams = new EventStreams();
  const reader = new Reader();
  streams.add(reader, text('a'), 0);
  reader.take();
  streams.sweep(14_999, never);
  expect(reader.text).toBe('a');
  streams.sweep(15_000, never);
  expect(reader.text).toBe('a:\n\n');
});

test('EventStreams ends with a last message', () => {
  const streams = new EventStreams();
  const reader = new Reader();
  streams.add(reader, text('a'), 0);
  streams.end(text('z'));
  expect([reader.text, reader.isEnded, streams.size]).toEqual(['az', true, 0]);
});

test('eventText writes one line of data, whatever is in the strings', () => {
  expect(eventText('x', { url: 'a\nevent: y\r\n\u2028' })).toBe(
    'event: x\ndata: {"url":"a\\nevent: y\\r\\n\u2028"}\n\n',
  );
});
