import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type Reply, ReplyReader } from './reply-reader.ts';

const large = 'x'.repeat(300_000);
/** Bytes of the server, and the replies in them. */
const BYTES = Buffer.from(
  `+PONG\r\n-NOSCRIPT No matching script\r\n:-42\r\n$-1\r\n*-1\r\n$0\r\n\r\n*0\r\n` +
    `*1\r\n*2\r\n$3\r\nlog\r\n*2\r\n` +
    `*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nh\r\n$8\r\n\r\n$5\r\n\r\n\r\n` +
    `*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nt\r\n$2\r\n17\r\n`,
);
const entry = (id: string, field: string, value: string) => [id, [field, value]];
const REPLIES = [
  'PONG',
  'error NOSCRIPT No matching script',
  -42,
  null,
  null,
  '',
  [],
  [['log', [entry('1-0', 'h', '\r\n$5\r\n\r\n'), entry('2-0', 't', '17')]]],
];

/** A reply with its bytes and errors as texts. */
function shown(reply: Reply): unknown {
  if (Array.isArray(reply)) return reply.map(shown);
  if (reply instanceof Error) return `error ${reply.message}`;
  return reply instanceof Uint8Array ? Buffer.from(reply).toString() : reply;
}

/** Reads chunks that are overwritten as soon as they were read, as the buffer of a socket is. */
function read(chunks: readonly Uint8Array[]): unknown[] {
  const replies: Reply[] = [];
  const reader = new ReplyReader((reply) => replies.push(reply));
  for (const chunk of chunks) {
    const copy = Uint8Array.from(chunk);
    reader.take(copy);
    copy.fill(0xff);
  }
  return replies.map(shown);
}

test('ReplyReader reads replies that come in one chunk, byte by byte, and cut at any place', () => {
  expect(read([BYTES])).toEqual(REPLIES);
  expect(read(Array.from(BYTES, (byte) => Uint8Array.of(byte)))).toEqual(REPLIES);
  for (let at = 0; at <= BYTES.length; at++)
    expect(read([BYTES.subarray(0, at), BYTES.subarray(at)])).toEqual(REPLIES);
});

test('ReplyReader gives no reply before its last byte', () => {
  const whole = BYTES.subarray(BYTES.indexOf('*1\r\n'));
  for (let at = 0; at < whole.length; at++) expect(read([whole.subarray(0, at)])).toEqual([]);
});

test('ReplyReader reads values that are longer than many chunks, and replies after them', () => {
  const bytes = Buffer.from(`*2\r\n$1\r\n0\r\n$${large.length}\r\n${large}\r\n:7\r\n`);
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += 65_536) chunks.push(bytes.subarray(from, from + 65_536));
  expect(read(chunks)).toEqual([['0', large], 7]);
  expect(read([...chunks, ...chunks])).toEqual([['0', large], 7, ['0', large], 7]);
});

test('ReplyReader refuses bytes that are no RESP2', () => {
  const wrong = [
    '%1\r\n',
    '>2\r\n',
    ':1.5\r\n',
    '$-2\r\n',
    '*-2\r\n',
    '$999999999999\r\n',
    '$1\r\nabc',
    '+a\rb\r\n',
    `+${'a'.repeat(70_000)}`,
    '*1\r\n'.repeat(10),
  ];
  for (const text of wrong) expect(() => read([Buffer.from(text)])).toThrow('Cannot read a reply of Redis');
});

test('ReplyReader meets flipped bits and random bytes with replies or a RangeError', () => {
  const random = new Random(19);
  const tryTo = (bytes: Uint8Array) => {
    try {
      read([bytes]);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
  };
  for (let bit = 0; bit < 8 * BYTES.length; bit++) {
    const bytes = Uint8Array.from(BYTES);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    tryTo(bytes);
  }
  const alphabet = Buffer.from('+-:$*0123456789\r\n\r\nx');
  for (let i = 0; i < 5000; i++) {
    const bytes = Uint8Array.from(
      { length: 1 + random.below(40) },
      () => alphabet[random.below(alphabet.length)],
    );
    tryTo(bytes);
  }
});
