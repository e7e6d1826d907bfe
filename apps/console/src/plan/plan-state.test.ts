import { BloomFilter } from 'bloomery';
import { plan } from 'bloomery/math';
import { expect, test } from 'vitest';
import { codeLine, planLine } from './plan-lines.ts';
import { FIGURES, FIRST_STATE, planOf, readPlanState, requestOf, writePlanState } from './plan-state.ts';

const STATES = [
  FIRST_STATE,
  ...Object.values(FIGURES),
  { ...FIRST_STATE, hashes: 3, rate: 1e-4, capacity: 12_345 },
  { ...FIRST_STATE, goal: 'delta', given: 'budget', budget: 1.5, changed: 0.01, capacity: 777 },
  { ...FIRST_STATE, goal: 'transmission', rate: 0.02, limit: 20 },
] as const;

test('a plan survives its address', () => {
  for (const state of STATES) expect(readPlanState(writePlanState(state))).toEqual(state);
});

test('an address with nonsense in it gives the first state', () => {
  const nonsense =
    'n=-1&rate=2&budget=x&limit=1e99&k=2.5&for=fun&given=__proto__&figure=constructor&changed=';
  expect(readPlanState(new URLSearchParams(nonsense))).toEqual(FIRST_STATE);
});

test('planOf is plan() of the request, or its words about why there is none', () => {
  for (const state of STATES) expect(planOf(state)).toEqual({ plan: plan(requestOf(state)) });
  const impossible = { ...FIRST_STATE, goal: 'transmission' as const, rate: 1e-9, limit: 1 };
  expect(planOf(impossible)).toEqual({ problem: expect.stringMatching(/^Cannot plan a filter/) });
});

test('codeLine makes the filter of the plan', () => {
  for (const state of STATES) {
    const result = planOf(state);
    if ('problem' in result) throw new Error(result.problem);
    const line = codeLine(state, result.plan);
    const filter = new Function('BloomFilter', `return ${line}`)(BloomFilter) as BloomFilter;
    expect([filter.bits, filter.hashes]).toEqual([result.plan.bits, result.plan.hashes]);
  }
});

test('planLine names what the state has, and nothing else', () => {
  expect(planLine(FIRST_STATE)).toBe('bloomery plan --capacity 1M --rate 0.01 --layout classic');
  expect(planLine(FIGURES['compressed-1'])).toBe(
    'bloomery plan --capacity 10k --message-bits 80000 --for transmission --max-bits 1280000 --layout classic',
  );
});
