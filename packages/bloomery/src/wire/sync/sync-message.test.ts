import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, it } from 'vitest';
import { CHECKSUM, FrameError, writeChecksum } from '../../frames/envelope.ts';
import {
  compareGenerations,
  questionOf,
  readSyncHead,
  readSyncMessage,
  type SyncMessage,
  writeSyncMessage,
} from './sync-message.ts';

const publisherId = 0x1122334455667788n;
const generation = { epoch: 3n, sequence: 300, sum: 0xfedcba9876543210n };
const told = { publisherId, generation, question: undefined };
const answer = { publisherId, generation, question: 0x04030201 };
const frame = Uint8Array.of(70, 71, 72);
const code = Uint8Array.of(80, 81);
const heard = { epoch: 2n ** 64n - 1n, sequence: Number.MAX_SAFE_INTEGER };

/** Each kind of message, and its bytes between the head and the checksum. */
const KINDS: readonly [title: string, message: SyncMessage, type: number, body: string][] = [
  ['a full state', { type: 'full', ...told, frame }, 1, `${name()}464748`],
  ['an answered full state', { type: 'full', ...answer, frame }, 129, `${name()}01020304464748`],
  ['a delta', { type: 'delta', ...told, base: 299, code }, 2, `${name()}015051`],
  ['an answered delta', { type: 'delta', ...answer, base: 0, code }, 130, `${name()}01020304ac025051`],
  ['a heartbeat', { type: 'heartbeat', ...told }, 3, name()],
  ['an answered heartbeat', { type: 'heartbeat', ...answer }, 131, `${name()}01020304`],
  ['a newcomer’s request', { type: 'request', publisherId, held: undefined, heard: undefined }, 4, '00'],
  [
    'the request of one that is current',
    { type: 'request', publisherId, held: generation, heard: undefined },
    4,
    `01${name()}`,
  ],
  [
    'the request of one that has only heard',
    { type: 'request', publisherId, held: undefined, heard },
    4,
    '02ffffffffffffffffffffffffffffff0f',
  ],
  [
    'the request of one that is behind',
    { type: 'request', publisherId, held: generation, heard },
    4,
    `03${name()}ffffffffffffffffffffffffffffff0f`,
  ],
  [
    'the longest request',
    { type: 'request', publisherId, held: { ...heard, sum: 1n }, heard },
    4,
    '03ffffffffffffffffffffffffffffff0f0100000000000000ffffffffffffffffffffffffffffff0f',
  ],
];

describe.each(KINDS)('%s', (_, message, type, body) => {
  const bytes = writeSyncMessage(message);

  it('has the bytes that the layout says', () => {
    expect(hex(bytes.subarray(0, -CHECKSUM))).toBe(`424c4d5301${byte(type)}8877665544332211${body}`);
  });

  it('reads back as it was', () => {
    expect(readSyncMessage(bytes)).toEqual(message);
    expect(writeSyncMessage(readSyncMessage(bytes))).toEqual(bytes);
    expect(readSyncHead(bytes)).toEqual({ type: message.type, isAnswer: type > 127, publisherId });
  });

  it('reads back from the middle of a larger buffer', () => {
    const inside = new Uint8Array(bytes.length + 20).fill(255);
    inside.set(bytes, 7);
    expect(readSyncMessage(inside.subarray(7, 7 + bytes.length))).toEqual(message);
  });

  it('is refused in every strict prefix, with each bit flipped, and with bytes behind it', () => {
    for (let length = 0; length < bytes.length; length++) {
      expect(() => readSyncMessage(bytes.slice(0, length))).toThrow(FrameError);
    }
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      expect(() => readSyncMessage(flipped)).toThrow(FrameError);
    }
    expect(() => readSyncMessage(Uint8Array.of(...bytes, 0))).toThrow(FrameError);
  });

  it('survives random bytes in its body under a right checksum', () => {
    const random = new Random(type);
    for (let i = 0; i < 2000; i++) {
      const other = bytes.slice(0, 15 + random.below(bytes.length - 14));
      for (let at = 14; at < other.length; at++) if (random.below(3) === 0) other[at] = random.bits();
      if (other.length < 19) continue;
      writeChecksum(other);
      try {
        // What can be read has one form only.
        expect(writeSyncMessage(readSyncMessage(other))).toEqual(other);
      } catch (error) {
        expect(error).toBeInstanceOf(FrameError);
      }
    }
  });
});

describe('sync messages', () => {
  it('say what is wrong with them', () => {
    const problem = (hexBytes: string) => {
      try {
        readSyncMessage(withChecksum(hexBytes));
      } catch (error) {
        return `${(error as FrameError).code} ${(error as Error).message}`;
      }
    };
    const id = '8877665544332211';
    const request = `424c4d530104${id}`;
    expect(problem(`424c4d590104${id}00`)).toBe(
      'not-a-frame Cannot decode sync message: expected the magic bytes 66,76,77,83, got 89 (at byte 3)',
    );
    expect(problem('424c4d53')).toBe(
      'truncated Cannot decode sync message: expected at least 19 bytes, got 8 (at byte 8)',
    );
    expect(problem(`424c4d530204${id}00`)).toContain('version');
    for (const type of ['00', '05', '7f', '80', '84', '85', 'ff']) {
      expect(problem(`424c4d5301${type}${id}00`)).toContain('expected a type of message');
    }
    expect(problem(`${request}04`)).toContain(
      'payload Cannot decode sync message: expected flags below 4, got 4',
    );
    expect(problem(`${request}0000`)).toContain('trailing Cannot decode sync message: expected the end');
    expect(problem(`${request}01${'00'.repeat(15)}`)).toContain('truncated');
    expect(problem(`${request}02${'00'.repeat(8)}8000`)).toContain('in its shortest form');
    expect(problem(`${request}${'00'.repeat(42)}`)).toContain(
      'expected a request of at most 59 bytes, got 60',
    );
    expect(problem(`424c4d530102${id}${name()}0050`)).toContain(
      'expected a delta from an earlier generation, got 0',
    );
    expect(problem(`424c4d530102${id}${name()}ad0250`)).toContain('generations back of at most 300');
    expect(() => readSyncMessage('BLMS' as never)).toThrow(
      new TypeError('Cannot decode: expected a Uint8Array'),
    );
  });

  it('are not written where they could not be read back', () => {
    const beat = { type: 'heartbeat', ...told };
    const delta = { type: 'delta', ...told, base: 299, code };
    const request = { type: 'request', publisherId, held: generation, heard };
    const wrong: [message: object, problem: string][] = [
      [
        { ...beat, type: 'beat' },
        "Cannot use type: expected 'full' or 'delta' or 'heartbeat' or 'request', got beat",
      ],
      [{ ...beat, publisherId: 4 }, 'Cannot use publisherId: expected a bigint, got number'],
      [
        { ...beat, publisherId: 2n ** 64n },
        'Cannot use publisherId: expected an integer from 0 to 2^64 - 1, got 1844',
      ],
      [
        { ...beat, question: 2 ** 32 },
        'Cannot use question: expected an integer from 0 to 4294967295, got 4294967296',
      ],
      [
        { ...beat, generation: { ...generation, sum: -1n } },
        'Cannot use sum: expected an integer from 0 to 2^64 - 1, got -1',
      ],
      [
        { ...beat, generation: { ...generation, epoch: -1n } },
        'Cannot use epoch: expected an integer from 0 to 2^64 - 1, got -1',
      ],
      [
        { ...beat, generation: { ...generation, sequence: 2 ** 53 } },
        'Cannot use sequence: expected an integer',
      ],
      [{ ...delta, base: 300 }, 'Cannot use base: expected an integer from 0 to 299, got 300'],
      [{ ...delta, base: -1 }, 'Cannot use base: expected an integer from 0 to 299, got -1'],
      [{ ...request, held: { ...generation, sum: 3 } }, 'Cannot use sum: expected a bigint, got number'],
      [
        { ...request, heard: { epoch: 1n, sequence: Number.POSITIVE_INFINITY } },
        'Cannot use sequence: expected an integer',
      ],
    ];
    for (const [message, problem] of wrong) {
      expect(() => writeSyncMessage(message as SyncMessage)).toThrow(problem);
    }
  });

  it('call a request by its checksum', () => {
    const request = writeSyncMessage({ type: 'request', publisherId, held: generation, heard });
    const view = new DataView(request.buffer);
    expect(questionOf(request)).toBe(view.getUint32(request.length - 4, true));
  });

  it('order generations by epoch, then by sequence', () => {
    const names = [
      { epoch: 1n, sequence: 5 },
      { epoch: 1n, sequence: 6 },
      { epoch: 2n, sequence: 0 },
      { epoch: 2n ** 63n, sequence: 0 },
    ];
    for (const [i, a] of names.entries()) {
      for (const [j, b] of names.entries())
        expect(Math.sign(compareGenerations(a, b))).toBe(Math.sign(i - j));
    }
  });
});

function name(): string {
  return '0300000000000000ac021032547698badcfe';
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, byte).join('');
}

function withChecksum(digits: string): Uint8Array {
  const bytes = Uint8Array.from(`${digits}00000000`.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  writeChecksum(bytes);
  return bytes;
}

describe('version 2', () => {
  it('differs in the version and the checksum only, and neither version reads the other', () => {
    for (const [, message] of KINDS) {
      const first = writeSyncMessage(message);
      const second = writeSyncMessage(message, 2);
      const expected = first.slice();
      expected[4] = 2;
      writeChecksum(expected);
      expect(second).toEqual(expected);
      expect(readSyncMessage(second, 2)).toEqual(message);
      expect(() => readSyncMessage(second)).toThrow('expected version 1, got 2 (at byte 4)');
      expect(() => readSyncMessage(first, 2)).toThrow('expected version 2, got 1 (at byte 4)');
    }
  });
});
