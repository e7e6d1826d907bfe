/**
 * Sessions that break after any number of bytes and go on with a token. The result must be exact,
 * and what was received must not come again; if a set has changed, the session must start again.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { KeySet, ReconcileError, type ReconcileKeys, ResumableReconciler } from '../../src/index.ts';
import { isExact, type KeyPair, keyPair } from '../session-lab.ts';

interface Broken {
  readonly a: ResumableReconciler;
  readonly b: ResumableReconciler;
}

/** Carries bytes until the initiator has received `most` of them, or until both are done. */
function carryUntil(a: ResumableReconciler, b: ResumableReconciler, most: number): Broken {
  for (let round = 0; !(a.done && b.done) && round < 1000; round++) {
    for (let bytes = a.pull(); bytes !== null; bytes = a.pull()) b.receive(bytes);
    for (let bytes = b.pull(); bytes !== null; bytes = b.pull()) {
      const left = most - a.progress.bytesReceived;
      a.receive(bytes.subarray(0, left));
      if (bytes.length >= left) return { a, b };
      for (let answer = a.pull(); answer !== null; answer = a.pull()) b.receive(answer);
    }
  }
  return { a, b };
}

function sides(
  keys: readonly [ReconcileKeys, ReconcileKeys],
  random: Random,
  resume?: Uint8Array,
  more = {},
) {
  const options = { ...more, resume };
  return [
    new ResumableReconciler(keys[0], { role: 'initiator', random: random.bytes(8), ...options }),
    new ResumableReconciler(keys[1], { role: 'responder', random: random.bytes(8), ...more }),
  ] as const;
}

function expectExact({ a, b }: Broken, pair: KeyPair): void {
  expect(isExact({ a: a.result, b: b.result } as never, pair)).toBe(true);
}

test('ResumableReconciler goes on after a break at any byte, in every method', () => {
  const random = new Random(1);
  const seen = new Set<string>();
  for (let round = 0; round < withEffort(150); round++) {
    const [n, d] = random.pick([
      [12, 5],
      [1500, 60],
      [300, 200],
      [4000, 1200],
    ]);
    const pair = keyPair(random, n, d);
    const keys = [pair.a, pair.b] as const;
    const more = { exchange: round % 3 === 0 };
    const whole = carryUntil(...sides(keys, new Random(round), undefined, more), Number.POSITIVE_INFINITY);
    const total = whole.a.progress.bytesReceived;
    const cut = 1 + random.below(total - 1);
    const { a: broken } = carryUntil(...sides(keys, new Random(round), undefined, more), cut);
    const token = broken.token();
    expect(token).not.toBeNull();
    const again = carryUntil(...sides(keys, random, token as Uint8Array, more), Number.POSITIVE_INFINITY);
    expectExact(again, pair);
    const { bytesResumed, bytesReceived } = again.a.progress;
    // Later attempts depend on randomness that the new responder does not have.
    if (broken.progress.attempts > 1) continue;
    expect(bytesResumed).toBe(cut);
    // The answer to the wish takes 3 bytes.
    expect(bytesReceived).toBe(total - cut + 3);
    if (!more.exchange) seen.add(again.a.result.method);
  }
  expect(seen).toEqual(new Set(['list', 'symbols', 'filter']));
});

test('ResumableReconciler breaks again and again, and gets there', () => {
  const random = new Random(2);
  const pair = keyPair(random, 3000, 150);
  const keys = [pair.a, pair.b] as const;
  let token: Uint8Array | undefined;
  for (let round = 0; round < 100; round++) {
    const { a, b } = carryUntil(...sides(keys, random, token), 120);
    if (a.done) {
      expectExact({ a, b }, pair);
      expect(round).toBeGreaterThan(8);
      return;
    }
    token = a.token() ?? token;
  }
  throw new Error('Cannot finish: expected an end after 100 sessions, got none');
});

test('ResumableReconciler starts again if the responder has changed, or the initiator', () => {
  const random = new Random(3);
  const pair = keyPair(random, 2000, 80);
  for (const changed of [0, 1]) {
    for (const cut of [30, 200, 700]) {
      const { a } = carryUntil(...sides([pair.a, pair.b], random), cut);
      const token = a.token() as Uint8Array;
      const keys = [pair.a, pair.b].map((side, i) => (i === changed ? side.slice(1) : side));
      const [now, then] = sides([keys[0], keys[1]], random, token);
      carryUntil(now, then, Number.POSITIVE_INFINITY);
      expect(now.progress.bytesResumed).toBe(0);
      expect(now.result.onlyHere).toEqual(keys[0].filter((key) => !keys[1].includes(key)));
      expect(then.result.onlyHere).toEqual(keys[1].filter((key) => !keys[0].includes(key)));
    }
  }
});

test('ResumableReconciler goes on with kept symbols', () => {
  const random = new Random(4);
  const pair = keyPair(random, 2000, 90);
  const kept = (keys: Iterable<number>) => {
    const set = new KeySet({ secret: new Uint8Array(16) });
    set.addMany(keys);
    return set;
  };
  const keys = [kept(pair.a), kept(pair.b)] as const;
  const { a } = carryUntil(...sides(keys, random), 500);
  const again = carryUntil(...sides(keys, random, a.token() as Uint8Array), Number.POSITIVE_INFINITY);
  expect(again.a.progress.bytesResumed).toBe(500);
  expectExact(again, pair);
});

test('damaged tokens and forged wishes end in an exact session, or in a ReconcileError', () => {
  const random = new Random(5);
  const pair = keyPair(random, 1000, 40);
  const { a } = carryUntil(...sides([pair.a, pair.b], random), 300);
  const token = a.token() as Uint8Array;
  for (let round = 0; round < withEffort(150); round++) {
    const damaged = round % 2 === 0 ? token.slice() : token.slice(0, random.below(token.length));
    if (damaged.length > 0) damaged[random.below(damaged.length)] ^= 1 << random.below(8);
    const again = carryUntil(...sides([pair.a, pair.b], random, damaged), Number.POSITIVE_INFINITY);
    expectExact(again, pair);
  }
  for (let round = 0; round < withEffort(300); round++) {
    const [now, then] = sides([pair.a, pair.b], random, token);
    const wish = (now.pull() as Uint8Array).slice();
    wish[random.below(wish.length)] ^= 1 << random.below(8);
    try {
      then.receive(wish);
      carryUntil(now, then, 4000);
      if (now.done && then.done) expectExact({ a: now, b: then }, pair);
    } catch (error) {
      expect(error).toBeInstanceOf(ReconcileError);
    }
  }
});

test('a wish to resume is no way around the limit on bytes', () => {
  const [, b] = sides(
    [
      [1, 2, 3],
      [2, 3, 4],
    ],
    new Random(7),
    undefined,
    { maxBytes: 4096 },
  );
  // 2^35 messages follow, and the first of them is none: the others are passed over.
  b.receive(Uint8Array.of(11, 11, 128, 128, 128, 128, 128, 1, 9, 0, 0, 0, 0));
  b.receive(Uint8Array.of(8, 1, 1));
  expect(b.pull()).toBeNull();
  const passOver = () => {
    for (let round = 0; round < 10_000; round++) b.receive(Uint8Array.of(8, 1, 1));
  };
  expect(passOver).toThrow(/at most 4096 bytes received/);
});

test('a responder without the code to resume refuses the wish', () => {
  const pair = keyPair(new Random(6), 100, 10);
  const [, b] = sides([pair.a, pair.b], new Random(6));
  expect(() => b.receive(Uint8Array.of(11, 2, 0, 0))).toThrow(ReconcileError);
  expect(b.token()).toBeNull();
});

test('an empty piece before the first byte changes nothing', () => {
  const random = new Random(11);
  const pair = keyPair(random, 1500, 60);
  const keys = [pair.a, pair.b] as const;
  const broken = carryUntil(...sides(keys, random), 200);
  const [a, b] = sides(keys, random, broken.a.token() as Uint8Array);
  b.receive(new Uint8Array(0));
  expectExact(carryUntil(a, b, Number.POSITIVE_INFINITY), pair);
  expect(a.progress.bytesResumed).toBe(200);
});
