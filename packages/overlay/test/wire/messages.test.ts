/** The messages of routing: there and back, and hostile bytes. */

import { Random } from '@bloomery/testkit/statistics';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { newPath } from '../../src/routing/decisions/choose-hop.ts';
import {
  readAnswer,
  readQuestion,
  writeAnswer,
  writeQuestion,
} from '../../src/routing/wire/locate-message.ts';
import {
  readFind,
  readFound,
  readRegistration,
  readTaken,
  writeFind,
  writeFound,
  writeRegistration,
  writeTaken,
} from '../../src/routing/wire/owner-message.ts';
import { RouteError } from '../../src/routing/wire/route-error.ts';

const bits = (text: string) => {
  const { high, low } = hashKey(text);
  return { high, low };
};
const path = newPath(7);
path.visit('a node');

const registration = {
  kind: 'changes' as const,
  boot: 2 ** 47 + 5,
  base: 6,
  number: 7,
  view: bits('view'),
  added: [bits('one'), bits('two')],
  removed: [bits('three')],
};
const samples: readonly [Uint8Array, (bytes: Uint8Array) => unknown][] = [
  [writeQuestion({ hash: bits('key'), reach: 3, hopsLeft: 2, timeLeftMs: 1500.7, path }), readQuestion],
  [writeAnswer({ holder: 'n7 ü', hopsLeft: 1, hops: 3, path }), readAnswer],
  [writeAnswer({ holder: null, hopsLeft: 0, hops: 999, path }), readAnswer],
  [writeRegistration(registration), readRegistration],
  [writeFind({ hash: bits('key'), view: bits('view') }), readFind],
  [writeFound({ holders: ['a', 'b'], isComplete: true }), readFound],
  [writeTaken(true), readTaken],
];

test('messages are read as they were written', () => {
  const question = readQuestion(samples[0][0]);
  expect([question.hash, question.reach, question.hopsLeft, question.timeLeftMs]).toEqual([
    bits('key'),
    3,
    2,
    1500,
  ]);
  expect([question.path.has('a node'), question.path.hops]).toEqual([true, 1]);
  expect(readAnswer(samples[1][0])).toMatchObject({ holder: 'n7 ü', hopsLeft: 1, hops: 3 });
  expect(readAnswer(samples[2][0])).toMatchObject({ holder: null, hops: 255 });
  expect(readRegistration(samples[3][0])).toEqual(registration);
  expect(readFound(samples[5][0])).toEqual({ holders: ['a', 'b'], isComplete: true });
  expect(readTaken(samples[6][0])).toBe(true);
});

test('the bytes of a question are pinned', () => {
  const bytes = writeQuestion({
    hash: { high: 1, low: 2 },
    reach: 3,
    hopsLeft: 2,
    timeLeftMs: 258,
    path: newPath(1),
  });
  expect(Buffer.from(bytes.subarray(0, 17)).toString('hex')).toBe('0102000000010000000302020100000000');
  expect(bytes.length).toBe(17 + 24);
});

test('every prefix of every message is refused with a RouteError, or is another message', () => {
  for (const [bytes, read] of samples)
    for (let length = 0; length < bytes.length; length++)
      expect(() => read(bytes.subarray(0, length)), `${read.name}, ${length} bytes`).toThrow(RouteError);
});

test('flipped bits and random bytes are read, or refused with a RouteError', () => {
  const random = new Random(5);
  for (const [bytes, read] of samples) {
    const attempts: Uint8Array[] = [];
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] ^= 1 << (bit & 7);
      attempts.push(flipped);
    }
    for (let i = 0; i < 300; i++)
      attempts.push(Uint8Array.from({ length: random.below(60) }, () => random.below(256)));
    for (const attempt of attempts)
      try {
        read(attempt);
      } catch (error) {
        expect(error).toBeInstanceOf(RouteError);
      }
  }
});

test('a count that the bytes do not hold is refused before anything is allocated', () => {
  const bytes = writeRegistration({ ...registration, added: [], removed: [] });
  // The count of added hashes, behind version, kind, three numbers and the view.
  bytes.fill(0xff, 28, 34);
  expect(() => readRegistration(bytes)).toThrow(
    /expected 281474976710655 hashes, got fewer bytes \(byte 34\)/,
  );
});
