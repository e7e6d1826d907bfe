import { expect, test } from 'vitest';
import { HedgeBudget } from './hedge-budget.ts';

test('one request of 20 is hedged when every request asks for a hedge', () => {
  const budget = new HedgeBudget();
  let hedges = 0;
  for (let i = 0; i < 10_000; i++) {
    budget.earn();
    if (budget.spend()) hedges++;
  }
  expect(hedges).toBe(500);
});

test('no more than ten hedges are saved up', () => {
  const budget = new HedgeBudget();
  expect(budget.mayHedge).toBe(false);
  for (let i = 0; i < 10_000; i++) budget.earn();
  let hedges = 0;
  while (budget.spend()) hedges++;
  expect([hedges, budget.mayHedge]).toEqual([10, false]);
});
