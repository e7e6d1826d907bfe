import { expect, test } from 'vitest';
import { RecentMessages } from './recent-messages.ts';

const read = (recent: RecentMessages, number: number, topics = ['x']) => {
  const { messages, gap } = recent.since(number, topics);
  return gap ? 'gap' : messages.map(({ message }) => message.join(' '));
};

test('RecentMessages gives the messages of the topics from a number on', () => {
  const recent = new RecentMessages();
  expect(read(recent, 0)).toEqual([]);
  recent.add('x', Uint8Array.of(1));
  recent.add('y', Uint8Array.of(2));
  recent.add('x', Uint8Array.of(3));
  expect(recent.next).toBe(3);
  expect(read(recent, 0)).toEqual(['1', '3']);
  expect(read(recent, 1, ['x', 'y'])).toEqual(['2', '3']);
  expect(read(recent, 3)).toEqual([]);
  expect(read(recent, 4)).toBe('gap');
});

test('RecentMessages forgets the oldest by number and by bytes, and says so', () => {
  const recent = new RecentMessages();
  for (let i = 0; i < 70; i++) recent.add('x', Uint8Array.of(i));
  expect(read(recent, 5)).toBe('gap');
  expect(read(recent, 6)).toHaveLength(64);
  recent.add('x', new Uint8Array(1024 * 1024));
  expect(read(recent, 69)).toBe('gap');
  expect(recent.since(70, ['x']).messages).toHaveLength(1);
  recent.add('x', new Uint8Array(1024 * 1024 + 1));
  expect(read(recent, 71)).toBe('gap');
  expect(read(recent, 72)).toEqual([]);
});
