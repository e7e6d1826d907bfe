import { expect, test } from 'vitest';
import { MessageSequence, type NumberedMessage } from './message-sequence.ts';

const one = Uint8Array.of(1);
const numbers = (ready: readonly NumberedMessage[]) => ready.map(({ number }) => number);

test('MessageSequence delivers in order, and holds messages that come early', () => {
  const sequence = new MessageSequence(4);
  expect(numbers(sequence.take(5, one))).toEqual([5]);
  expect(numbers(sequence.take(7, one))).toEqual([]);
  expect(numbers(sequence.take(9, one))).toEqual([]);
  expect(sequence.gap()).toEqual({ first: 6, last: 6, isLong: false });
  expect([sequence.missing(32), sequence.missing(1)]).toEqual([[6, 8], [6]]);
  expect(numbers(sequence.take(6, one))).toEqual([6, 7]);
  expect(sequence.gap()).toEqual({ first: 8, last: 8, isLong: false });
  expect(numbers(sequence.take(8, one))).toEqual([8, 9]);
  expect(sequence.gap()).toBe(null);
});

test('MessageSequence delivers a message once, however often it comes', () => {
  const sequence = new MessageSequence(0);
  expect(numbers(sequence.take(2, one))).toEqual([]);
  expect(numbers(sequence.take(2, one))).toEqual([]);
  expect(numbers(sequence.take(1, one))).toEqual([1, 2]);
  expect(numbers(sequence.take(1, one))).toEqual([]);
  expect(numbers(sequence.take(2, one))).toEqual([]);
});

test('MessageSequence: a beat and an announcement make a gap without a later message', () => {
  const sequence = new MessageSequence(3);
  sequence.known(2);
  expect(sequence.gap()).toBe(null);
  sequence.known(5);
  expect(sequence.gap()).toEqual({ first: 4, last: 5, isLong: false });
  sequence.announced(4);
  expect(sequence.gap()).toEqual({ first: 4, last: 5, isLong: true });
  expect(numbers(sequence.take(4, one))).toEqual([4]);
  expect(sequence.gap()).toEqual({ first: 5, last: 5, isLong: false });
});

test('MessageSequence: a gap that is given up lets the messages after it through, up to the next gap', () => {
  const sequence = new MessageSequence(0);
  sequence.take(3, one);
  sequence.take(4, one);
  sequence.take(7, one);
  expect(numbers(sequence.giveUp())).toEqual([3, 4]);
  expect(sequence.gap()).toEqual({ first: 5, last: 6, isLong: false });
  expect(numbers(sequence.take(2, one))).toEqual([]);
  expect(numbers(sequence.giveUp())).toEqual([7]);
  expect(numbers(sequence.giveUp())).toEqual([]);
});

test('MessageSequence says when it holds too many messages or bytes', () => {
  const many = new MessageSequence(0);
  for (let number = 2; number <= 257; number++) many.take(number, one);
  expect(many.isFull).toBe(false);
  many.take(258, one);
  expect(many.isFull).toBe(true);
  many.giveUp();
  expect(many.isFull).toBe(false);
  const large = new MessageSequence(0);
  large.take(2, new Uint8Array(1024 * 1024));
  expect(large.isFull).toBe(false);
  large.take(3, one);
  expect(large.isFull).toBe(true);
});
