import { expect, test } from 'vitest';
import { readStreamQuery } from './stream-target.ts';

const read = (query: string) => readStreamQuery(new URLSearchParams(query));

test('readStreamQuery reads versions, topics and the place of a pull', () => {
  expect(read('protocols=1&topics=summary,owner')).toEqual({ protocol: 1, topics: ['summary', 'owner'] });
  expect(read('protocols=2,1&topics=&new=1')).toEqual({ protocol: 1, topics: [] });
  expect(read('protocols=1&topics=x&pull=kR3x.12')).toEqual({
    protocol: 1,
    topics: ['x'],
    pull: { life: 'kR3x', next: 12 },
  });
  expect(read('protocols=1&pull=')).toEqual({ protocol: 1, topics: [], pull: { life: '', next: 0 } });
});

test('readStreamQuery names what is wrong', () => {
  for (const query of ['', 'topics=x', 'protocols=', 'protocols=2', 'protocols=x'])
    expect(read(query)).toBe('version');
  for (const topics of ['A', '.x', '-x', 'x y', 'x'.repeat(65), 'ok,not_ok'])
    expect(read(`protocols=1&topics=${topics}`), topics).toBe('topic');
});
