/**
 * The curves behind a plan: four views of the relation between memory, transmission, hashes and
 * rate. They come from the papers' formulas, which depend on amounts per key alone; the point on
 * them is what `plan()` says, which has whole bits, whole hashes and the true rate.
 *
 * Figures 1 and 2 of *compressed* are the first plot at 8 and 16 bits sent per key, figure 1 of
 * *tutorial* is the first plot at 32 bits per key, and figure 2 is the second.
 */

import {
  bitsAsymptotic,
  compressedBits,
  deltaBits,
  lowerBoundBits,
  type Plan,
  planSummary,
  rateAsymptotic,
} from 'bloomery/math';
import { rateText } from '../page/number-text.ts';
import type { Axis } from '../plotting/axis.ts';
import type { Curve, Point } from '../plotting/plot.tsx';
import type { PlanState } from './plan-state.ts';

export interface PlanPlot {
  readonly x: Axis;
  readonly y: Axis;
  readonly curves: readonly Curve[];
}

const STEPS = 96;
/** The formulas take whole filters. They depend on amounts per key alone, so any number serves. */
const KEYS = 1000;
const MOST_BITS = 4096;
/** Lines of figure 2 of *tutorial*. */
const LINES = [2, 4, 8, 16, 32] as const;

/** Points of a function, evenly spaced on the axis. */
function sample({ scale, from, to }: Axis, of: (x: number) => number, steps = STEPS): Point[] {
  return Array.from({ length: steps + 1 }, (_, i) => {
    const share = i / steps;
    const x = scale === 'log' ? from * (to / from) ** share : from + (to - from) * share;
    return [x, of(x)] as const;
  });
}

function rateAt(bits: number, k: number): number {
  return Number.isFinite(bits) ? rateAsymptotic(bits * KEYS, k, KEYS) : Number.NaN;
}

/** Bits per key of a whole message. */
function messageAt(bits: number, k: number): number {
  return compressedBits(bits * KEYS, k, KEYS) / KEYS;
}

/** Bits per key of a delta. */
function deltaAt(bits: number, k: number, changed: number): number {
  return deltaBits(bits * KEYS, k, KEYS, changed) / KEYS;
}

/** The m/n at which an amount that grows with it reaches `wanted`, or NaN beyond all bounds. */
export function bitsFor(amount: (bits: number) => number, wanted: number): number {
  let low = 1e-3;
  let high = 1;
  while (amount(high) < wanted) {
    if (high > MOST_BITS) return Number.NaN;
    high *= 2;
  }
  for (let i = 0; i < 50 && high - low > 1e-9 * high; i++) {
    const middle = (low + high) / 2;
    if (amount(middle) < wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Rate against hashes, at the bits per key that the plan spends on its goal. */
export function hashesPlot(state: PlanState, found: Plan): PlanPlot {
  const { goal, figure, changed } = state;
  const spent = spentBits(state, found);
  const x = figureXAxis(figure) ?? {
    label: 'hash functions k',
    scale: 'linear',
    from: 0,
    to: Math.min(34, Math.max(12, Math.ceil(found.hashes * 1.8), Math.ceil(spent * 1.1))),
  };
  const y = figureYAxis(figure) ?? {
    label: 'rate of false positives',
    scale: 'log',
    ...decadesAround([found.falsePositiveRate, rateAt(spent, Math.max(0.3, Math.LN2 * spent))]),
    format: rateText,
  };
  const ks: Axis = { ...x, from: 0.25 };
  const standard: Curve = {
    name:
      goal === 'memory' ? `${digits(spent)} bits per key` : `sent as it is: ${digits(spent)} bits per key`,
    colour: 0,
    points: sample(ks, (k) => rateAt(spent, k)),
  };
  if (goal === 'memory') return { x, y, curves: [standard] };
  const size = (bits: number, k: number) =>
    goal === 'delta' ? deltaAt(bits, k, changed) : messageAt(bits, k);
  const name = goal === 'delta' ? `delta of ${digits(spent)} bits per key` : 'compressed to the same size';
  const compressed: Curve = {
    name,
    colour: 1,
    points: sample(ks, (k) =>
      rateAt(
        bitsFor((bits) => size(bits, k), spent),
        k,
      ),
    ),
  };
  return { x, y, curves: goal === 'delta' ? [compressed] : [standard, compressed] };
}

/** Memory against the rate: bits per key for each number of hashes, and the bounds. */
export function ratePlot(state: PlanState, found: Plan): PlanPlot {
  const least = Math.min(1e-6, 10 ** Math.floor(Math.log10(found.falsePositiveRate)));
  const isFigure = state.figure === 'tutorial-2';
  const x: Axis = {
    label: 'rate of false positives',
    scale: 'log',
    from: least,
    to: isFigure ? 0.1 : 0.5,
    format: rateText,
  };
  const highest = isFigure ? 70 : Math.max(40, Math.min(256, found.bitsPerKey * 1.3));
  const y: Axis = { label: 'memory: bits per key', scale: 'linear', from: 0, to: highest };
  const lines = LINES.map((k) => ({
    name: `k = ${k}`,
    colour: -1,
    endLabel: `k = ${k}`,
    points: sample(x, (rate) => bitsAsymptotic(k, 1, rate)),
  }));
  return {
    x,
    y,
    curves: [
      ...lines,
      { name: 'best k', colour: 0, points: sample(x, (rate) => -Math.log2(rate) / Math.LN2) },
      {
        name: 'no structure can be smaller',
        colour: 3,
        dashed: true,
        points: sample(x, (rate) => lowerBoundBits(1, rate)),
      },
    ],
  };
}

/** Bits sent against bits held, at the plan's rate: more memory makes smaller messages. */
export function memoryPlot(state: PlanState, found: Plan): PlanPlot {
  const rate = found.falsePositiveRate;
  const optimum = -Math.log2(rate);
  const smallest = optimum / Math.LN2;
  const x: Axis = {
    label: 'memory: bits per key',
    scale: 'log',
    from:
      Math.min(smallest, found.bitsPerKey, state.goal === 'memory' ? found.bitsPerKey : state.limit) / 1.5,
    to: Math.max(512, found.bitsPerKey * 1.5),
  };
  // For each k from the best one down to a fraction of a hash: the array gets larger, and its
  // message smaller.
  const along = Array.from({ length: STEPS + 1 }, (_, i) => {
    const k = Math.max(0.02, optimum) * (0.6 / Math.max(0.6, optimum)) ** (i / STEPS);
    return { k, bits: bitsAsymptotic(k, 1, rate) };
  });
  const whole = along.map(({ k, bits }) => [bits, messageAt(bits, k)] as const);
  const delta = along.map(({ k, bits }) => [bits, deltaAt(bits, k, state.changed)] as const);
  const y: Axis = {
    label: 'sent: bits per key',
    scale: 'linear',
    from: 0,
    to: Math.max(smallest * 1.1, found.transmissionBitsPerKey * 1.1, 1),
  };
  return {
    x,
    y,
    curves: [
      { name: 'whole message', colour: 0, points: whole },
      { name: `delta, ${rateText(state.changed)} of the keys replaced`, colour: 1, points: delta },
      {
        name: 'no message can be smaller',
        colour: 3,
        dashed: true,
        points: [
          [x.from, optimum],
          [x.to, optimum],
        ],
      },
    ],
  };
}

/** Deltas against the fraction of keys that changed, for the planned filter and for a set. */
export function changedPlot({ changed }: PlanState, found: Plan): PlanPlot {
  const { bitsPerKey, hashes, falsePositiveRate, transmissionBitsPerKey } = found;
  const x: Axis = {
    label: 'keys replaced between two messages',
    scale: 'log',
    from: Math.min(0.001, changed),
    to: 0.9999,
    ticks: [0.0001, 0.001, 0.01, 0.1].filter((tick) => tick >= Math.min(0.001, changed)),
    format: rateText,
  };
  // Amounts of a set are nearly proportional to its keys: those of 100,000 serve for any number.
  const keys = 100_000;
  const rate = Math.min(0.5, Math.max(1e-9, falsePositiveRate));
  const set = sample(
    x,
    (changedFraction) =>
      (planSummary({ capacity: keys, changedFraction, falsePositiveRate: rate }).forms[0].deltaBytes * 8) /
      keys,
    48,
  );
  const whole = transmissionBitsPerKey;
  return {
    x,
    y: { label: 'sent: bits per key', scale: 'linear', from: 0, to: Math.max(1, whole * 1.25) },
    curves: [
      { name: 'delta', colour: 1, points: sample(x, (c) => deltaAt(bitsPerKey, hashes, c)) },
      { name: 'delta of a set of positions', colour: 2, points: set },
      {
        name: 'whole message',
        colour: 0,
        dashed: true,
        points: [
          [x.from, whole],
          [x.to, whole],
        ],
      },
    ],
  };
}

function spentBits({ goal }: PlanState, found: Plan): number {
  if (goal === 'memory') return found.bitsPerKey;
  if (goal === 'transmission') return found.transmissionBitsPerKey;
  return (found.expectedDeltaBits ?? 0) / found.capacity;
}

function figureXAxis(figure: PlanState['figure']): Axis | null {
  const label = 'hash functions k';
  if (figure === 'compressed-1')
    return { label, scale: 'linear', from: 0, to: 10.5, ticks: [0, 2, 4, 6, 8, 10] };
  if (figure === 'compressed-2')
    return { label, scale: 'linear', from: 0, to: 20.5, ticks: [0, 4, 8, 12, 16, 20] };
  return figure === 'tutorial-1' ? { label, scale: 'linear', from: 0, to: 33 } : null;
}

function figureYAxis(figure: PlanState['figure']): Axis | null {
  const label = 'rate of false positives';
  if (figure === 'compressed-1') return { label, scale: 'linear', from: 0, to: 0.1 };
  if (figure === 'compressed-2') {
    const ticks = [0, 0.0005, 0.001, 0.0015, 0.002];
    return { label, scale: 'linear', from: 0, to: 0.002, ticks };
  }
  return figure === 'tutorial-1' ? { label, scale: 'log', from: 1e-7, to: 0.1, format: rateText } : null;
}

/** A log axis of whole decades around some rates, up to 1. */
function decadesAround(rates: readonly number[]): Pick<Axis, 'from' | 'to'> {
  const least = Math.min(...rates.filter((rate) => rate > 0), 0.01);
  return { from: 10 ** (Math.floor(Math.log10(least)) - 1), to: 1 };
}

function digits(value: number): string {
  return String(Number(value.toPrecision(3)));
}
