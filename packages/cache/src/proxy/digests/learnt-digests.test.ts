import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { LearntDigests } from './learnt-digests.ts';

const secret = Buffer.alloc(16, 3);
const digest = (text: string, algorithm: 'sha256' | 'sha512' = 'sha256') => ({
  algorithm,
  hex: createHash(algorithm).update(text).digest('hex'),
});

test('a digest is found by its key, and the latest one counts', () => {
  const learnt = new LearntDigests(secret);
  learnt.add('a', digest('1'));
  learnt.add('b', digest('2', 'sha512'));
  expect(learnt.find('a')).toEqual({ algorithm: 'sha256', hex: digest('1').hex.slice(0, 32) });
  expect(learnt.find('b')).toEqual({ algorithm: 'sha512', hex: digest('2', 'sha512').hex.slice(0, 32) });
  learnt.add('a', digest('3', 'sha512'));
  expect(learnt.find('a')?.hex).toBe(digest('3', 'sha512').hex.slice(0, 32));
  learnt.forget('a');
  expect([learnt.find('a'), learnt.find('c'), learnt.size]).toEqual([null, null, 1]);
});

test('the oldest records make room, and the others stay right while the ring grows', () => {
  const limit = 5000;
  const learnt = new LearntDigests(secret, limit);
  for (let at = 0; at < 12_000; at++) {
    learnt.add(`k${at}`, digest(`${at}`));
    if (at % 7 === 0) learnt.forget(`k${at - 3}`);
  }
  expect(learnt.size).toBeLessThanOrEqual(limit);
  for (let at = 0; at < 12_000; at++) {
    const found = learnt.find(`k${at}`);
    if (at < 12_000 - limit || (at + 3) % 7 === 0) expect(found, `k${at}`).toBeNull();
    else expect(found?.hex, `k${at}`).toBe(digest(`${at}`).hex.slice(0, 32));
  }
});
