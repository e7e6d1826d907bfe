/** Untrusted peers: malformed points, wrong sizes, changed bytes. Every refusal is typed. */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { IntersectionError } from '../../src/private/intersection/intersection-error.ts';
import { IntersectionSession } from '../../src/private/intersection/intersection-session.ts';
import { ristretto255 } from '../../src/private/sodium.ts';
import { nobleGroup } from './noble-group.ts';
import { joined, openPair, runPair, seeded } from './session-lab.ts';

const group = await ristretto255();
const keys = ['a@example.org', 'b@example.org', 'c@example.org'];

const hello = (kind: number, count: number, version = 1) => {
  const bytes = Uint8Array.of(0x42, 0x50, 0x53, 0x49, version, kind, 0, 0, 0, 0);
  new DataView(bytes.buffer).setUint32(6, count, true);
  return bytes;
};
const responder = (options = {}) =>
  new IntersectionSession(keys, { role: 'responder', group, random: seeded(1), ...options });
const initiator = (options = {}) =>
  new IntersectionSession(keys, { role: 'initiator', group, random: seeded(1), ...options });

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'taken';
  } catch (error) {
    if (error instanceof IntersectionError) return error.code;
    throw error;
  }
}

const point = (seed: number) => group.elementFrom(seeded(seed)(64));
const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));

/** Encodings that a decoder must refuse: RFC 9496, appendix A.2. */
const BAD_POINTS: [string, string][] = [
  ['the field modulus, which stands for 0', `ed${'ff'.repeat(30)}7f`],
  ['a field element above the modulus', `f3${'ff'.repeat(30)}7f`],
  ['all ones', `${'ff'.repeat(31)}7f`],
  ['more than 255 bits', `00${'ff'.repeat(31)}`],
  ['the negative element 1', `01${'00'.repeat(31)}`],
  ['a negative element', `01${'ff'.repeat(30)}7f`],
  ['a negative element', 'ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20'],
  ['an x that is no square', '26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371'],
  ['an x that is no square', '4eac077a713c57b4f4397629a4145982c661f48044dd3f96427d40b147d9742f'],
  ['a negative xy', '3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e'],
  ['s = -1, which makes y = 0', `ec${'ff'.repeat(30)}7f`],
];

describe('points', () => {
  test.each(BAD_POINTS)('%s is refused by both libraries and by a session', (_, text) => {
    const bytes = hex(text);
    expect(bytes).toHaveLength(32);
    const scalar = group.scalarFrom(seeded(2)(64));
    expect(group.multiply(bytes, scalar)).toBeNull();
    expect(nobleGroup.multiply(bytes, scalar)).toBeNull();
    const session = responder();
    session.receive(hello(0, 2));
    session.receive(point(1));
    expect(codeOf(() => session.receive(bytes))).toBe('malformed');
    // A session that has failed stays so.
    expect(codeOf(() => session.pull())).toBe('malformed');
    expect(codeOf(() => session.receive(point(2)))).toBe('malformed');
    expect(session.done).toBe(false);
  });

  test('the identity is refused, by both sides', () => {
    const identity = new Uint8Array(32);
    expect(group.multiply(identity, group.scalarFrom(seeded(2)(64)))).toBeNull();
    expect(nobleGroup.multiply(identity, group.scalarFrom(seeded(2)(64)))).toBeNull();
    for (const [session, kind] of [
      [responder(), 0],
      [initiator(), 1],
    ] as const) {
      session.receive(hello(kind, 1));
      expect(() => session.receive(identity)).toThrow(
        /expected an element that is not the identity.*point 0/,
      );
    }
  });

  test('a point that comes twice is refused', () => {
    for (const [session, kind] of [
      [responder(), 0],
      [initiator(), 1],
    ] as const) {
      session.receive(hello(kind, 3));
      session.receive(point(1));
      session.receive(point(2));
      expect(() => session.receive(point(1))).toThrow(/expected different points.*point 2/);
    }
  });
});

describe('hellos', () => {
  test.each([
    ['another protocol', Uint8Array.from(Buffer.from('GET / HTTP')), 'malformed'],
    ['a later version', hello(0, 1, 2), 'version'],
    ['version 0', hello(0, 1, 0), 'version'],
    ['an unknown kind', hello(4, 1), 'malformed'],
    ['a second responder', hello(1, 1), 'mismatch'],
    ['a peer that wants the count', hello(2, 1), 'mismatch'],
    ['a set above the limit', hello(0, 101), 'limit'],
    ['a set of 4 billion keys', hello(0, 0xffffffff), 'limit'],
  ])('%s is refused before any point', (_, bytes, code) => {
    const session = responder({ maxPeerKeys: 100 });
    expect(codeOf(() => session.receive(bytes))).toBe(code);
  });

  test('a set at the limit is taken', () => {
    const session = responder({ maxPeerKeys: 100 });
    expect(codeOf(() => session.receive(hello(0, 100)))).toBe('taken');
  });

  test('memory grows with what came, not with what was announced', () => {
    const before = process.memoryUsage().arrayBuffers;
    const session = responder({ maxPeerKeys: 2 ** 24 });
    session.receive(hello(0, 2 ** 24));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
  });
});

describe('tags and answers', () => {
  /** The bytes that each side sends in an honest session. */
  function honest(reveals: 'keys' | 'count') {
    const options = { group, reveals };
    const pair = openPair({ keys, options, seed: 1 }, { keys, options, seed: 2 });
    const { fromInitiator, fromResponder } = runPair(...pair);
    return { toResponder: joined(fromInitiator), toInitiator: joined(fromResponder) };
  }
  const replay = (role: 'initiator' | 'responder', reveals: 'keys' | 'count', bytes: Uint8Array) => {
    const session = new IntersectionSession(keys, {
      role,
      reveals,
      group,
      random: seeded(role === 'initiator' ? 1 : 2),
    });
    while (session.pull() !== null);
    session.receive(bytes);
    return session;
  };

  test.each(['keys', 'count'] as const)('no strict prefix completes a session: %s', (reveals) => {
    const { toResponder, toInitiator } = honest(reveals);
    for (const [role, bytes] of [
      ['initiator', toInitiator],
      ['responder', toResponder],
    ] as const) {
      for (let length = 0; length < bytes.length; length += length < 20 ? 1 : 7) {
        const session = replay(role, reveals, bytes.subarray(0, length));
        expect(codeOf(() => session.result)).toBe('unexpected');
        expect(session.expects).toBe(true);
      }
      expect(replay(role, reveals, bytes).result.commonCount).toBe(3);
      expect(codeOf(() => replay(role, reveals, joined([bytes, Uint8Array.of(0)])))).toBe('unexpected');
    }
  });

  test('equal tags, bits after the last one and impossible counts are refused', () => {
    const { toResponder, toInitiator } = honest('keys');
    const tags = toInitiator.slice();
    const size = (tags.length - 10 - 96) / 3;
    tags.copyWithin(106, 106 + size, 106 + 2 * size);
    expect(codeOf(() => replay('initiator', 'keys', tags))).toBe('malformed');
    const answer = toResponder.slice();
    answer[answer.length - 1] |= 8;
    expect(codeOf(() => replay('responder', 'keys', answer))).toBe('malformed');
    const count = honest('count').toResponder.slice();
    count[count.length - 4] = 4;
    expect(codeOf(() => replay('responder', 'count', count))).toBe('malformed');
  });

  test('changed bytes end in a typed error or in a result, never in another error', () => {
    const random = new Random(261);
    for (const reveals of ['keys', 'count'] as const) {
      const { toResponder, toInitiator } = honest(reveals);
      for (let round = 0; round < withEffort(150, 60); round++) {
        const role = random.pick(['initiator', 'responder'] as const);
        const bytes = (role === 'initiator' ? toInitiator : toResponder).slice();
        for (let flips = 1 + random.below(3); flips > 0; flips--) {
          bytes[random.below(bytes.length)] ^= 1 << random.below(8);
        }
        expect(['taken', 'malformed', 'version', 'mismatch', 'limit', 'unexpected']).toContain(
          codeOf(() => replay(role, reveals, bytes)),
        );
      }
    }
  });

  test('random bytes are refused', () => {
    const random = new Random(262);
    for (let round = 0; round < 200; round++) {
      expect(codeOf(() => responder().receive(random.bytes(200)))).toBe('malformed');
    }
  });
});

test('IntersectionSession refuses options of a wrong shape', () => {
  expect(() => initiator({ role: 'both' })).toThrow(TypeError);
  expect(() => initiator({ reveals: 'all' })).toThrow(TypeError);
  expect(() => initiator({ padTo: 2 })).toThrow(/from 3 to 2\^24, got 2/);
  expect(() => initiator({ padTo: 2 ** 24 + 1 })).toThrow(RangeError);
  expect(() => initiator({ maxPeerKeys: -1 })).toThrow(RangeError);
  expect(() => initiator({ context: new Uint8Array(65_536) })).toThrow(RangeError);
});
