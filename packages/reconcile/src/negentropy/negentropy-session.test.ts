import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ReconcileError } from '../reconcile-error.ts';
import { type NegentropyItem, NegentropyItems } from './negentropy-items.ts';
import { type NegentropyOptions, NegentropySession } from './negentropy-session.ts';

interface Sets {
  readonly a: NegentropyItem[];
  readonly b: NegentropyItem[];
}

const hex = (id: Uint8Array) => [...id].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Two sets of about `count` items, each of which differs with probability `share`. */
function setsOf(random: Random, count: number, share: number, times: number): Sets {
  const sets: Sets = { a: [], b: [] };
  for (let i = 0; i < count; i++) {
    const item = { timestamp: random.below(times), id: random.bytes(32) };
    const differs = random.below(1e6) < 1e6 * share;
    const first = random.below(2) === 0;
    if (!differs || first) sets.a.push(item);
    if (!differs || !first) sets.b.push(item);
  }
  return sets;
}

function missing(from: NegentropyItem[], other: NegentropyItem[]): string[] {
  const there = new Set(other.map(({ id }) => hex(id)));
  return from
    .map(({ id }) => hex(id))
    .filter((id) => !there.has(id))
    .sort();
}

/** Runs a session and returns the messages, after it was found to be exact. */
function run(
  { a, b }: Sets,
  here: Partial<NegentropyOptions>,
  there: Partial<NegentropyOptions>,
): Uint8Array[] {
  const initiator = new NegentropySession(new NegentropyItems(a), { role: 'initiator', ...here });
  const responder = new NegentropySession(new NegentropyItems(b), { role: 'responder', ...there });
  const messages: Uint8Array[] = [];
  for (let message: Uint8Array | null = initiator.start(); message !== null; ) {
    const answer = responder.receive(message) as Uint8Array;
    expect(message.length).toBeLessThanOrEqual(here.frameSizeLimit ?? Number.POSITIVE_INFINITY);
    expect(answer.length).toBeLessThanOrEqual(there.frameSizeLimit ?? Number.POSITIVE_INFINITY);
    messages.push(message, answer);
    message = initiator.receive(answer);
  }
  expect(initiator.done).toBe(true);
  expect(initiator.onlyHere.map(hex).sort()).toEqual(missing(a, b));
  expect(initiator.onlyThere.map(hex).sort()).toEqual(missing(b, a));
  return messages;
}

test('NegentropySession finds both differences, of any sets and with any limits', () => {
  const random = new Random(1);
  for (let round = 0; round < withEffort(40); round++) {
    const count = random.pick([0, 1, 5, 31, 32, 100, 700]);
    const sets = setsOf(random, count, random.pick([0, 0.01, 0.2, 1]), random.pick([1, 3, 1e6]));
    const limit = () => (random.below(2) === 0 ? {} : { frameSizeLimit: 4096 + random.below(5000) });
    run(sets, limit(), limit());
  }
});

test('NegentropySession: equal sets cost one message and one byte, the newest items a few hundred', () => {
  const { a } = setsOf(new Random(2), 2000, 0, 1e9);
  expect(run({ a, b: a }, {}, {}).map(({ length }) => length)).toEqual([expect.any(Number), 1]);
  const newest = Array.from({ length: 3 }, (_, i) => ({
    timestamp: 1e9 + i,
    id: new Uint8Array(32).fill(i),
  }));
  const messages = run({ a, b: [...a, ...newest] }, {}, {});
  expect(messages.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(2000);
});

test('NegentropySession: a responder of version 1 says so to other versions', () => {
  const items = new NegentropyItems([]);
  const responder = new NegentropySession(items, { role: 'responder' });
  expect(responder.receive(Uint8Array.of(0x62, 1, 2, 3))).toEqual(Uint8Array.of(0x61));
  expect(() => responder.receive(Uint8Array.of(0x41))).toThrow(/a version from 0x60 to 0x6f, got 0x41/);
  const initiator = new NegentropySession(items, { role: 'initiator' });
  expect(() => initiator.receive(Uint8Array.of(0x61))).toThrow(/expected no message at this point/);
  initiator.start();
  expect(() => initiator.receive(Uint8Array.of(0x60))).toThrow(/expected 0x61, got 0x60/);
  expect(() => initiator.start()).toThrow(/expected the start of an initiator/);
});

test('NegentropySession refuses options that make no sense, and more bytes than it may take', () => {
  const items = new NegentropyItems([]);
  expect(() => new NegentropySession(items, { role: 'both' as never })).toThrow(TypeError);
  expect(() => new NegentropySession(items, { role: 'initiator', frameSizeLimit: 100 })).toThrow(
    /from 4096 on/,
  );
  expect(() => new NegentropySession(items, { role: 'initiator', maxBytes: 0 })).toThrow(
    /maxBytes from 1024/,
  );
  const responder = new NegentropySession(items, { role: 'responder', maxBytes: 1024 });
  expect(() => responder.receive(new Uint8Array(1025))).toThrow(/at most 1024 bytes received, got 1025/);
});

test('hostile messages end in a typed error or in an answer that is bounded', () => {
  const random = new Random(4);
  const sets = setsOf(random, 300, 0.1, 1000);
  const [mine, theirs] = [new NegentropyItems(sets.a), new NegentropyItems(sets.b)];
  const recorded = run(sets, {}, {});
  let answers = 0;
  const hear = (side: number, bytes: Uint8Array) => {
    const role = side === 0 ? 'responder' : 'initiator';
    const session = new NegentropySession(side === 0 ? theirs : mine, { role });
    if (side === 1) session.start();
    try {
      const answer = session.receive(bytes);
      answers++;
      // All ids once, and for each range at most 16 fingerprints or an empty list.
      expect(answer?.length ?? 0).toBeLessThan(32 * 300 + 40 * bytes.length + 100);
    } catch (error) {
      if (!(error instanceof ReconcileError)) throw error;
    }
  };
  for (const [i, message] of recorded.entries())
    for (let length = 0; length < message.length; length += 1 + Math.floor(message.length / withEffort(60)))
      hear(i % 2, message.subarray(0, length));
  for (let round = 0; round < withEffort(1500); round++) {
    const at = random.below(recorded.length);
    const bytes = round % 4 === 0 ? random.bytes(1 + random.below(50)) : recorded[at].slice();
    if (round % 4 === 0) bytes[0] = 0x61;
    for (let n = 1 + random.below(4); n > 0; n--)
      bytes[random.below(bytes.length)] = random.pick([0, 1, 2, 128, 255, random.bits() & 255]);
    hear(at % 2, bytes);
  }
  expect(answers).toBeGreaterThan(10);
});
