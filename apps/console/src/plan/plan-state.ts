/**
 * The state of the planner: what the reader has chosen, its form in the address, and the request to
 * `plan()` that it stands for. Pure. Amounts are per key, so that they keep their meaning when the
 * number of keys changes.
 */

import { type Plan, type PlanRequest, plan } from 'bloomery/math';

/** The scarce resource. */
export type Goal = 'memory' | 'transmission' | 'delta';
/** The one of the two that is given: the rate, or the budget of the scarce resource. */
type Given = 'rate' | 'budget';
export type FigureName = 'compressed-1' | 'compressed-2' | 'tutorial-1' | 'tutorial-2';

export interface PlanState {
  readonly goal: Goal;
  readonly given: Given;
  /** n */
  readonly capacity: number;
  readonly rate: number;
  /** Bits per key of the scarce resource: of the array, the message or the delta. */
  readonly budget: number;
  /** The most bits per key in memory, for the goals that are messages. */
  readonly limit: number;
  /** c, the fraction of keys that is replaced between two messages. */
  readonly changed: number;
  /** k, or null for the best. */
  readonly hashes: number | null;
  /** The figure of a paper that is shown, or null. */
  readonly figure: FigureName | null;
}

export const FIRST_STATE: PlanState = {
  goal: 'memory',
  given: 'rate',
  capacity: 1_000_000,
  rate: 0.01,
  budget: 8,
  limit: 64,
  changed: 0.05,
  hashes: null,
  figure: null,
};

/** The limits of each amount. A value outside of them is not taken from an address. */
export const LIMITS = {
  capacity: [1, 1e9],
  rate: [1e-9, 0.5],
  budget: [0.01, 256],
  limit: [1, 512],
  changed: [0.0001, 0.9999],
  hashes: [1, 32],
} as const;

/** The figures of the papers, as states. */
export const FIGURES: Record<FigureName, PlanState> = {
  'compressed-1': {
    ...FIRST_STATE,
    goal: 'transmission',
    given: 'budget',
    capacity: 10_000,
    budget: 8,
    limit: 128,
    figure: 'compressed-1',
  },
  'compressed-2': {
    ...FIRST_STATE,
    goal: 'transmission',
    given: 'budget',
    capacity: 10_000,
    budget: 16,
    limit: 64,
    figure: 'compressed-2',
  },
  'tutorial-1': {
    ...FIRST_STATE,
    given: 'budget',
    capacity: 10_000,
    budget: 32,
    figure: 'tutorial-1',
  },
  'tutorial-2': { ...FIRST_STATE, capacity: 10_000, rate: 0.01, figure: 'tutorial-2' },
};

/** Reads a state from an address. Parts that are missing or wrong have their first value. */
export function readPlanState(parameters: URLSearchParams): PlanState {
  const figure = parameters.get('figure') as FigureName | null;
  const base = figure !== null && Object.hasOwn(FIGURES, figure) ? FIGURES[figure] : FIRST_STATE;
  const number = (name: keyof typeof LIMITS, key: string, first: number) => {
    const text = parameters.get(key);
    const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
    return value >= LIMITS[name][0] && value <= LIMITS[name][1] ? value : first;
  };
  const choice = <T extends string>(key: string, choices: readonly T[], first: T): T =>
    choices.find((one) => one === parameters.get(key)) ?? first;
  const hashes = number('hashes', 'k', 0);
  return {
    goal: choice('for', ['memory', 'transmission', 'delta'], base.goal),
    given: choice('given', ['rate', 'budget'], base.given),
    capacity: Math.round(number('capacity', 'n', base.capacity)),
    rate: number('rate', 'rate', base.rate),
    budget: number('budget', 'budget', base.budget),
    limit: number('limit', 'limit', base.limit),
    changed: number('changed', 'changed', base.changed),
    hashes: Number.isInteger(hashes) && hashes > 0 ? hashes : null,
    figure: base.figure,
  };
}

/** Writes a state: only the parts that differ from the figure's, or from the first state. */
export function writePlanState(state: PlanState): URLSearchParams {
  const base = state.figure === null ? FIRST_STATE : FIGURES[state.figure];
  const parameters = new URLSearchParams();
  if (state.figure !== null) parameters.set('figure', state.figure);
  const put = (key: string, value: string | number, first: string | number) => {
    if (value !== first) parameters.set(key, String(value));
  };
  put('for', state.goal, base.goal);
  put('given', state.given, base.given);
  put('n', state.capacity, base.capacity);
  put('rate', state.rate, base.rate);
  put('budget', state.budget, base.budget);
  put('limit', state.limit, base.limit);
  put('changed', state.changed, base.changed);
  if (state.hashes !== null) parameters.set('k', String(state.hashes));
  return parameters;
}

/** The request that the state stands for. */
export function requestOf(state: PlanState): PlanRequest {
  const { goal, given, capacity, rate, budget, limit, changed, hashes } = state;
  const fixed = hashes === null ? {} : { hashes };
  if (goal === 'memory') {
    const amount =
      given === 'rate' ? { falsePositiveRate: rate } : { bits: Math.max(1, Math.round(budget * capacity)) };
    return { capacity, ...amount, ...fixed };
  }
  const amount =
    given === 'rate'
      ? { falsePositiveRate: rate }
      : { transmissionBits: Math.max(1, Math.round(budget * capacity)) };
  const maxBits = Math.max(1, Math.round(limit * capacity));
  const delta = goal === 'delta' ? { changedFraction: changed } : {};
  return { goal, capacity, ...amount, maxBits, ...delta, ...fixed };
}

export type PlanResult = { readonly plan: Plan } | { readonly problem: string };

/** The plan, or the planner's own words about why there is none. */
export function planOf(state: PlanState): PlanResult {
  try {
    return { plan: plan(requestOf(state)) };
  } catch (error) {
    if (error instanceof RangeError) return { problem: error.message };
    throw error;
  }
}
