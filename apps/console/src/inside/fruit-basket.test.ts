import { expect, test } from 'vitest';
import { addFruit, firstBasket, lostBits, takeOut, verdictOf } from './fruit-basket.ts';

test('mango is a false positive, as in the article', () => {
  expect(verdictOf(firstBasket(), 'mango')).toBe('false-positive');
  expect(verdictOf(firstBasket(), 'apples')).toBe('right-maybe');
});

test('taking apples out breaks plums, because bit 11 is of both', () => {
  const basket = takeOut(firstBasket(), 'apples');
  expect(verdictOf(basket, 'plums')).toBe('false-negative');
  expect(basket.cells[11]).toBe(0);
  expect(verdictOf(addFruit(basket, 'apples'), 'plums')).toBe('right-maybe');
});

test('with counters, taking apples out leaves plums', () => {
  const basket = takeOut(firstBasket(true), 'apples');
  expect(['plums', 'apples', 'mango'].map((fruit) => verdictOf(basket, fruit as 'plums'))).toEqual([
    'right-maybe',
    'right-no',
    'right-no',
  ]);
  expect(takeOut(basket, 'apples')).toBe(basket);
});

test('lostBits names the bits that a key lost, whichever key was taken out', () => {
  expect(lostBits(takeOut(firstBasket(), 'apples'), 'plums')).toEqual([11]);
  const without = takeOut(addFruit(firstBasket(), 'mango'), 'mango');
  expect([lostBits(without, 'apples'), lostBits(without, 'plums')]).toEqual([[3, 12], [8]]);
  expect(lostBits(firstBasket(), 'plums')).toEqual([]);
});
