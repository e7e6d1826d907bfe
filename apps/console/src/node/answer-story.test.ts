import { expect, test } from 'vitest';
import { sourceText, storyOf } from './answer-story.ts';
import type { Answer, Outcome } from './node-api.ts';

const HIT: Answer = {
  id: 1,
  at: 1,
  method: 'GET',
  url: null,
  object: '0123456789ab',
  status: 200,
  outcome: 'hit',
  reason: '',
  cacheStatus: null,
  neighbour: null,
  neighbours: null,
  notStored: null,
  bytesSent: 5,
  bytesFromOrigin: 0,
  bytesFromNeighbours: 0,
  durationMs: 0.3,
  isAborted: false,
};

test('storyOf tells a hit, and a miss that was not stored', () => {
  expect(storyOf(HIT)).toEqual([
    'GET was answered with 200 after less than 1 ms.',
    'A fresh response was stored here, so no other server was asked.',
    'It came from this cache.',
    '5 B were sent.',
  ]);
  const miss = { ...HIT, outcome: 'miss', reason: 'uri-miss', notStored: 'no-store', bytesFromOrigin: 5 };
  expect(storyOf(miss as Answer).slice(1)).toEqual([
    'Nothing was stored under this URL.',
    'It came from the origin.',
    '5 B were sent, 5 B came from the origin.',
    'It was not stored: the origin said no-store.',
  ]);
});

test('storyOf shows codes that it does not know as they are, also names that every object has', () => {
  for (const code of ['unheard-of', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    const answer = { ...HIT, outcome: code as Outcome, reason: code, notStored: code };
    const story = storyOf(answer);
    expect(story).toContain(`Reason: ${code}.`);
    expect(story).toContain(`It was not stored: ${code}.`);
    expect(story.every((sentence) => typeof sentence === 'string')).toBe(true);
    expect(sourceText(answer)).toBe(code);
  }
});
