/** Keys that are sent in one direction only. */

import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { Reconciler } from '../../src/index.ts';
import { carry } from '../session-lab.ts';

type Wants = 'both' | 'mine' | 'theirs';

const HERE = Array.from({ length: 500 }, (_, i) => `here ${i} ${'x'.repeat(100)}`);
const THERE = Array.from({ length: 500 }, (_, i) => `there ${i} ${'x'.repeat(100)}`);
const COMMON = Array.from({ length: 1000 }, (_, i) => `both ${i}`);

function run(ofA: Wants, ofB: Wants) {
  const random = new Random(1);
  const side = (role: 'initiator' | 'responder', wants: Wants, keys: string[]) =>
    new Reconciler(keys, { role, random: random.bytes(8), exchange: true, wants });
  const a = side('initiator', ofA, [...HERE, ...COMMON]);
  const b = side('responder', ofB, [...THERE, ...COMMON]);
  carry(a, b);
  expect(a.result.onlyHere).toEqual(HERE);
  expect(b.result.onlyHere).toEqual(THERE);
  const { bytesSent, bytesReceived } = a.progress;
  return {
    here: a.result.onlyThere?.length ?? null,
    there: b.result.onlyThere?.length ?? null,
    bytes: bytesSent + bytesReceived,
  };
}

test('wants: keys go in the directions that both sides want', () => {
  const both = run('both', 'both');
  expect(both).toMatchObject({ here: 500, there: 500 });
  expect(run('theirs', 'mine')).toMatchObject({ here: 500, there: null });
  expect(run('theirs', 'both')).toMatchObject({ here: 500, there: null });
  expect(run('mine', 'both')).toMatchObject({ here: null, there: 500 });
  expect(run('mine', 'mine')).toMatchObject({ here: null, there: null });
  // 500 keys of about 110 bytes are not sent.
  expect(run('mine', 'theirs').bytes).toBeLessThan(both.bytes - 50_000);
});

test('wants: another word is a TypeError', () => {
  const wrong = () =>
    new Reconciler([], { role: 'initiator', random: new Uint8Array(8), wants: 'all' as never });
  expect(wrong).toThrow("Cannot reconcile: expected 'both', 'mine' or 'theirs', got all");
});
