import { expect, test } from 'vitest';
import { OriginYields } from './origin-yields.ts';

test('OriginYields asks one in 32 after eight refusals in a row, until an object comes', () => {
  const yields = new OriginYields();
  for (let refusal = 0; refusal < 8; refusal++) {
    expect(yields.mayAsk('http://a', 0.99)).toBe(true);
    yields.refused('http://a');
  }
  expect(yields.mayAsk('http://a', 1 / 32)).toBe(false);
  expect(yields.mayAsk('http://a', 0.031)).toBe(true);
  expect(yields.mayAsk('http://b', 0.99)).toBe(true);
  yields.gave('http://a');
  expect(yields.mayAsk('http://a', 0.99)).toBe(true);
});

test('OriginYields remembers a bounded number of origins, the latest ones', () => {
  const yields = new OriginYields();
  for (let origin = 0; origin <= 1024; origin++)
    for (let refusal = 0; refusal < 8; refusal++) yields.refused(`http://${origin}`);
  expect(yields.mayAsk('http://0', 0.99)).toBe(true);
  expect(yields.mayAsk('http://1', 0.99)).toBe(false);
  expect(yields.mayAsk('http://1024', 0.99)).toBe(false);
});
