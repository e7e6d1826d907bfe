/**
 * A peer that sends anything. Each session ends with a `ReconcileError`, waits for more bytes, or
 * is right: no other error, no wrong answer, no memory on a declared size. The full form makes more
 * than a million inputs (BLOOMERY_EFFORT=300).
 */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ReconcileError, Reconciler } from '../../src/index.ts';
import { carry, type KeyPair, keyPair, pairOf } from '../session-lab.ts';

const HOUR = 3_600_000;

/** Sessions of every method: a list, symbols, a filter, and keys that are exchanged. */
const PAIRS: readonly KeyPair[] = [
  keyPair(new Random(1), 12, 9),
  keyPair(new Random(2), 1500, 40),
  keyPair(new Random(3), 300, 250),
];

interface Recording {
  readonly pair: KeyPair;
  readonly toA: readonly Uint8Array[];
  readonly toB: readonly Uint8Array[];
  /** The methods that both sides used. */
  readonly method: string;
}

const options = { exchange: true, maxBytes: 2 ** 20, maxSymbols: 4096 };

function record(pair: KeyPair): Recording {
  const [a, b] = pairOf(pair.a, pair.b, new Random(9), options);
  const toA: Uint8Array[] = [];
  const toB: Uint8Array[] = [];
  carry(a, b, (from, bytes) => (from === 'a' ? toB : toA).push(bytes));
  return { pair, toA, toB, method: a.result.method };
}

const RECORDINGS = PAIRS.map(record);

/** A session of the recording's side that hears the given bytes instead. */
function replay({ pair }: Recording, side: 'a' | 'b', heard: Uint8Array): 'done' | 'waiting' | string {
  const [a, b] = pairOf(pair.a, pair.b, new Random(9), options);
  const session = side === 'a' ? a : b;
  const drain = () => {
    for (let bytes = session.pull(); bytes !== null; bytes = session.pull());
  };
  try {
    drain();
    // In pieces, so that a session sees what came before the fault as well.
    for (let at = 0; at < heard.length && !session.done; at += 97) {
      session.receive(heard.subarray(at, at + 97));
      drain();
    }
  } catch (error) {
    if (!(error instanceof ReconcileError)) throw error;
    return error.code;
  }
  if (!session.done) return 'waiting';
  const mine = side === 'a' ? pair.onlyA : pair.onlyB;
  // A key of ours is wrongly missed only if the peer claims to hold it, which is its own affair.
  expect(
    session.result.onlyHere.every((key) => (side === 'a' ? pair.a : pair.b).includes(key as number)),
  ).toBe(true);
  return session.result.onlyHere.length === mine.length ? 'done' : 'another set';
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

test('the recordings hold a list, symbols and a filter, and can be replayed', () => {
  expect(RECORDINGS.map(({ method }) => method)).toEqual(['list', 'symbols', 'filter']);
  for (const recording of RECORDINGS) {
    expect(replay(recording, 'a', joined(recording.toA))).toBe('done');
    expect(replay(recording, 'b', joined(recording.toB))).toBe('done');
  }
});

test('every strict prefix leaves a session waiting', { timeout: HOUR }, () => {
  for (const recording of RECORDINGS) {
    for (const side of ['a', 'b'] as const) {
      const heard = joined(side === 'a' ? recording.toA : recording.toB);
      const step = Math.max(1, Math.floor(heard.length / withEffort(50)));
      for (let length = 0; length < heard.length; length += step)
        expect(replay(recording, side, heard.subarray(0, length)), `${length} bytes`).toBe('waiting');
    }
  }
});

test('an initiator that claims fewer keys than it has in common with us is told no', () => {
  const sides = () => pairOf([1, 2, 3], [1, 2, 3], new Random(9));
  const [a, honest] = sides();
  const hello = a.pull() as Uint8Array;
  honest.receive(hello);
  const sum = (honest.pull() as Uint8Array).subarray(3); // of an equal set
  const tell = Uint8Array.of(7, 11, ...sum, 0, 0, 0); // all of it in common, an empty list
  honest.receive(tell);
  expect(honest.pull()).toEqual(Uint8Array.of(8, 1, 1));
  const [, cheated] = sides();
  cheated.receive(hello.map((byte, i) => (i === 16 ? 2 : byte))); // 2 keys
  cheated.pull();
  cheated.receive(tell);
  expect(cheated.pull()).toEqual(Uint8Array.of(8, 1, 0));
});

test('an empty tell ends only a session in which nothing seemed to differ', () => {
  const empty = Uint8Array.of(7, 0);
  for (const [keys, agreed] of [
    [[1, 2, 3], true],
    [[1, 2, 4, 5], false],
  ] as const) {
    const [a, b] = pairOf([1, 2, 3], keys, new Random(9));
    b.receive(a.pull() as Uint8Array);
    b.pull();
    if (!agreed) expect(() => b.receive(empty)).toThrow(ReconcileError);
    else {
      b.receive(empty);
      expect(b.result.method).toBe('equal');
    }
  }
});

test('sets of one size whose sketches agree by accident are still told apart', () => {
  const random = new Random(10);
  const common = Array.from({ length: 300 }, (_, i) => i);
  let unseen = 0;
  for (let round = 0; unseen < 3; round++) {
    expect(round).toBeLessThan(400);
    const [a, b] = pairOf([...common, 'x'], [...common, 'y'], random);
    let proposed = false;
    // A summary of an equal set has the flag 16.
    carry(a, b, (from, bytes) => {
      proposed ||= from === 'b' && bytes[0] === 2 && (bytes[2] & 16) !== 0;
    });
    expect([a.result.onlyHere, b.result.onlyHere]).toEqual([['x'], ['y']]);
    if (proposed) unseen++;
  }
});

test('flipped bits end in an error, in waiting, or in a session that is right', { timeout: HOUR }, () => {
  const random = new Random(4);
  const seen = new Set<string>();
  for (let round = 0; round < withEffort(400); round++) {
    const recording = random.pick(RECORDINGS);
    const side = random.pick(['a', 'b'] as const);
    const heard = joined(side === 'a' ? recording.toA : recording.toB);
    const bit = random.below(8 * heard.length);
    heard[bit >> 3] ^= 1 << (bit & 7);
    seen.add(replay(recording, side, heard));
  }
  expect(seen).toContain('malformed');
  expect(seen).toContain('unexpected');
});

test('random and mutated bytes, whatever they declare', { timeout: HOUR }, () => {
  const random = new Random(5);
  for (let round = 0; round < withEffort(3000); round++) {
    // The list is the shortest session, so most rounds take it.
    const recording = round % 8 === 0 ? random.pick(RECORDINGS) : RECORDINGS[0];
    const side = random.pick(['a', 'b'] as const);
    const heard =
      round % 3 === 0 ? random.bytes(random.below(60)) : joined(side === 'a' ? recording.toA : recording.toB);
    for (let n = random.below(6); n > 0 && heard.length > 0; n--)
      heard[random.below(heard.length)] = random.pick([0, 1, 127, 128, 255, random.bits() & 255]);
    replay(recording, side, heard);
  }
});

/** A hello of a peer that claims this number of keys. */
function helloOf(n: readonly number[]): Uint8Array {
  return Uint8Array.of(
    1,
    22 + n.length,
    66,
    76,
    77,
    82,
    1,
    0,
    ...new Uint8Array(8),
    ...n,
    ...new Uint8Array(8),
  );
}

test('declared sizes allocate nothing', () => {
  const responder = () => new Reconciler(PAIRS[1].b, { role: 'responder', random: new Uint8Array(8) });
  const huge = [255, 255, 255, 255, 255, 255, 63];
  const session = responder();
  session.receive(helloOf(huge)); // 2^48 - 1 keys
  // A list of all our keys, with long prefixes against so many of theirs.
  expect(session.pull()?.length).toBeLessThan(9000);
  // 2^40 symbols
  const other = responder();
  other.receive(helloOf([0xdc, 0x0b])); // 1500 keys
  expect(() => other.receive(Uint8Array.of(3, 6, 128, 128, 128, 128, 128, 32))).toThrow(/at most 4194304/);
  // A body of 2^41 bytes
  expect(() => responder().receive(Uint8Array.of(1, 128, 128, 128, 128, 128, 64))).toThrow(ReconcileError);
  expect(() => responder().receive(Uint8Array.of(1, ...new Uint8Array(7).fill(128), 64))).toThrow(/2\^48/);
});

test('a list with less than a byte per value, and counters that are cut, are refused', () => {
  const initiator = () => new Reconciler(PAIRS[1].a, { role: 'initiator', random: new Uint8Array(8) });
  const told = (...body: number[]) => {
    const session = initiator();
    session.pull();
    session.receive(Uint8Array.of(2, body.length, ...body));
  };
  // 20 values of 52 bits in 10 bytes: each is a gap of 0 in one bit.
  expect(() => told(8, 0, 52, 0, 20, ...new Uint8Array(7))).toThrow('at most');
  expect(() => told(24, 0, 0, ...new Uint8Array(20))).toThrow('expected 256 more bytes, got 20');
});

test('a filter that lets all keys pass, and says nothing, is answered once', () => {
  const session = new Reconciler(PAIRS[1].b, { role: 'responder', random: new Uint8Array(8), maxBytes: 1e6 });
  session.receive(helloOf([0xdc, 0x0b])); // 1500 keys
  session.pull();
  session.receive(Uint8Array.of(5, 4, 5, 1, 1, 1)); // 1 hash, 1 bit, and that is set
  const sizes: number[] = [];
  for (let bytes = session.pull(); bytes !== null && sizes.length < 9; bytes = session.pull())
    sizes.push(bytes.length);
  expect(sizes).toHaveLength(1);
});

test('says what is wrong, and stays wrong', () => {
  const responder = new Reconciler(['a'], { role: 'responder', random: new Uint8Array(8) });
  const later = Uint8Array.of(1, 15, 66, 76, 77, 82, 2, 0, ...new Uint8Array(8), 1);
  expect(() => responder.receive(later)).toThrow('Cannot reconcile: expected version 1, got 2 (hello)');
  expect(() => responder.pull()).toThrow('expected version 1');
  const other = new Reconciler(['a'], { role: 'responder', random: new Uint8Array(8) });
  expect(() => other.receive(Uint8Array.of(3, 1, 9))).toThrow(
    /expected another message at this point, got more/,
  );
  const small = new Reconciler(['a'], { role: 'responder', random: new Uint8Array(8), maxBytes: 1024 });
  expect(() => small.receive(new Uint8Array(1025))).toThrow(/at most 1024 bytes received/);
  expect(() => new Reconciler(['a'], { role: 'both' as never, random: new Uint8Array(8) })).toThrow(
    TypeError,
  );
  expect(() => new Reconciler(['a'], { role: 'initiator', random: new Uint8Array(7) })).toThrow(TypeError);
  expect(() => new Reconciler('a' as never, { role: 'initiator', random: new Uint8Array(8) })).toThrow(
    TypeError,
  );
  expect(() => new Reconciler([], { role: 'initiator', random: new Uint8Array(8), maxAttempts: 1 })).toThrow(
    /3 to 255/,
  );
});

test('a peer that never agrees exhausts the attempts', () => {
  const [a] = pairOf(PAIRS[0].a, PAIRS[0].b, new Random(9));
  a.pull();
  // No keys: an empty list must follow.
  const fewer = 2 * PAIRS[0].a.length - 1;
  const empty = Uint8Array.of(2, 2, 8, fewer);
  expect(() => a.receive(empty)).toThrow(ReconcileError);
  const [initiator] = pairOf(PAIRS[0].a, PAIRS[0].b, new Random(9));
  initiator.pull();
  initiator.receive(Uint8Array.of(2, 5, 8, fewer, 0, 0, 0));
  const refuseAll = () => {
    for (let round = 0; round < 20; round++) {
      initiator.receive(Uint8Array.of(8, 1, 0));
      // The first of them brings the responder's randomness.
      const random = new Uint8Array(round === 0 ? 8 : 0);
      initiator.receive(Uint8Array.of(2, 5 + random.length, 8, ...random, fewer, 0, 0, 0));
    }
  };
  expect(refuseAll).toThrow('Cannot reconcile: expected success in 8 attempts, got none');
});

test('symbols in pieces of another size than was asked for are refused', () => {
  // Each piece makes the initiator look through all ids that it has found.
  const { pair, toA } = RECORDINGS[1];
  const at = toA.findIndex((bytes) => bytes[0] === 4);
  for (const cut of [0, 5, 10]) {
    const [a] = pairOf(pair.a, pair.b, new Random(9), options);
    for (const bytes of toA.slice(0, at)) {
      for (let own = a.pull(); own !== null; own = a.pull());
      a.receive(bytes);
    }
    const piece = toA[at].subarray(2, 2 + cut);
    expect(() => a.receive(Uint8Array.of(4, piece.length, ...piece)), `${cut} bytes`).toThrow(/symbols, got/);
  }
});
