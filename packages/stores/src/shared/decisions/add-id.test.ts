import { expect, test } from 'vitest';
import { compareIds, covers, formatAddId, type LogView, parseAddId } from './add-id.ts';

const ID = { lineage: '3f9c2a10', epoch: 2, server: '8d1ff05c22aa', place: '1700000000000-5' };
const VIEW: LogView = {
  lineage: '3f9c2a10',
  epoch: 2,
  server: '8d1ff05c22aa',
  past: [],
  verified: '1700000000000-5',
  isLive: true,
};

test('compareIds orders by time and then by the counter, as numbers', () => {
  const ordered = ['0-0', '9-1', '10-0', '10-2', '10-10', '1700000000000-0'];
  for (const [i, a] of ordered.entries())
    for (const [j, b] of ordered.entries()) expect(Math.sign(compareIds(a, b))).toBe(Math.sign(i - j));
});

test('parseAddId reads what formatAddId wrote, and refuses everything else', () => {
  expect(parseAddId(formatAddId(ID))).toEqual(ID);
  const text = formatAddId(ID);
  for (let length = 0; length < text.length - 1; length++)
    expect(() => parseAddId(text.slice(0, length))).toThrow(TypeError);
  for (const wrong of ['', '1-0', `${text}x`, ` ${text}`, text.toUpperCase().replace('3F', 'G')])
    expect(() => parseAddId(wrong)).toThrow('Cannot read an id');
});

test('covers an id up to the verified place, and none after it', () => {
  expect(covers(VIEW, ID)).toBe(true);
  expect(covers(VIEW, { ...ID, place: '1700000000000-4' })).toBe(true);
  expect(covers(VIEW, { ...ID, place: '1700000000000-6' })).toBe(false);
});

test('covers nothing while the filter is not live, or of another lineage or a later epoch', () => {
  expect(covers({ ...VIEW, isLive: false }, ID)).toBe(false);
  expect(covers(VIEW, { ...ID, lineage: '00000000' })).toBe(false);
  expect(covers(VIEW, { ...ID, epoch: 3 })).toBe(false);
});

test('covers ids of earlier epochs, and of servers that were replaced and settled', () => {
  const later = { ...ID, place: '1800000000000-0' };
  expect(covers(VIEW, { ...later, epoch: 1 })).toBe(true);
  expect(covers(VIEW, { ...later, server: '000000000000' })).toBe(false);
  expect(covers({ ...VIEW, past: ['000000000000'] }, { ...later, server: '000000000000' })).toBe(true);
});
