/**
 * Survey 2.5: overflow over t turnovers of the set, and the time from an overflow to a false
 * negative under the survey's rule, compared with the library's rule.
 */

import { counterOverflowBoundOptimal, counterProbability } from 'bloomery/math';
import { type Compare, compareMean } from '../findings/comparison.ts';
import { digits, measured } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { fraction, job, type Results, resultOf, type Work } from '../trials/jobs.ts';
import { stepsToLoss } from './loss-time.ts';

export function turnoverWork(trials: number): Work[] {
  return SETTINGS.map((one) => ({ job: turnoverJob(one), trials: fraction(trials, 25, 20) }));
}

/** Sized for 100 elements (kn/m = ln 2); 4-bit counters overflow only if there are many more. */
const SETTINGS = [
  { counterBits: 2, keys: 100 },
  { counterBits: 4, keys: 600 },
  { counterBits: 4, keys: 800 },
] as const;

const [BITS, HASHES, TURNOVERS] = [1443, 10, 20];

function turnoverJob({ counterBits, keys }: (typeof SETTINGS)[number]) {
  return job({
    kind: 'turnover',
    bits: BITS,
    hashes: HASHES,
    keys,
    strangers: 0,
    counterBits,
    turnovers: TURNOVERS,
  });
}

/** The probability that a key uses a given counter: it counts once, whatever its hashes are. */
function shareOf(bits: number, hashes: number): number {
  return -Math.expm1(hashes * Math.log1p(-1 / bits));
}

/**
 * The mean number of times, in one turnover of the set, that some counter comes to `count`: a new
 * key finds a counter that count - 1 of the n - 1 others use.
 */
function crossingsPerTurnover(bits: number, hashes: number, keys: number, count: number): number {
  const share = shareOf(bits, hashes);
  return keys * bits * share * binomialProbability(keys - 1, share, count - 1);
}

/** C(n,j)·p^j·(1-p)^(n-j), by logarithms. */
function binomialProbability(n: number, p: number, j: number): number {
  let log = j * Math.log(p) + (n - j) * Math.log1p(-p);
  for (let i = 0; i < j; i++) log += Math.log((n - i) / (i + 1));
  return Math.exp(log);
}

export function turnover(results: Results, compare: Compare): Section {
  const overflow: string[][] = [];
  const losses: string[][] = [];
  for (const setting of SETTINGS) {
    const { counterBits, keys } = setting;
    const samples = resultOf(results, turnoverJob(setting));
    const limit = 2 ** counterBits;
    const name = [`${counterBits}`, `${keys}`];
    const crossings = samples.summary('crossings');
    const expected = TURNOVERS * crossingsPerTurnover(BITS, HASHES, keys, limit);
    const far = (crossings.mean - expected) / crossings.error;
    overflow.push([
      ...name,
      digits(expected, 4),
      measured(crossings),
      // With fewer events the scatter of the trials says too little.
      expected * samples.trials > 100
        ? compare(compareMean(`overflows, ${counterBits} bits, ${keys} keys`, crossings, expected))
        : far.toFixed(1),
      digits(samples.summary('overflowStep', (steps) => steps / keys).mean, 3),
      digits(BITS * TURNOVERS * keys * counterProbability(BITS, HASHES, keys, limit), 3),
    ]);
    const share = shareOf(BITS, HASHES);
    const theory = stepsToLoss({ maximum: limit - 1, keys, share }) / keys;
    const loss = samples.summary('lossSteps', (steps) => steps / keys);
    losses.push([
      ...name,
      digits(theory, 4),
      measured(loss),
      compare(compareMean(`loss after overflow, ${counterBits} bits, ${keys} keys`, loss, theory)),
      digits(samples.summary('firstLoss', (steps) => steps / keys).mean, 3),
      measured(samples.summary('lost', (lost) => (100 * lost) / keys)),
      digits(samples.summary('denied').mean),
      measured(samples.summary('stuck', (stuck) => (100 * stuck) / BITS)),
    ]);
  }
  return {
    title: 'Survey 2.5: overflow over turnovers, and the time to a false negative',
    text: [
      `${BITS.toLocaleString('en')} counters, k = ${HASHES}, n elements; in each step a random one leaves and a new one comes, and n steps are a ` +
        'turnover. The survey bounds the overflow of t different sets by the union 1.37e-15·mt. Each step makes a different set, so a ' +
        'turnover is n of them. What happens is less: a counter can only come to 2^b when a new element finds it at 2^b - 1, which on ' +
        'average occurs n·mq·P(c = 2^b - 1) times per turnover, where q is the probability that an element uses a counter. Four bits ' +
        `never overflow at n = 100 (kn/m = ln 2): ${digits(crossingsPerTurnover(BITS, HASHES, 100, 16), 2)} per turnover, where the ` +
        `union bound says ${digits(100 * counterOverflowBoundOptimal(BITS, 16), 2)}. So we take counters of two bits, and ` +
        'filters with six and eight times the elements they are made for.',
      `First table: overflows in ${TURNOVERS} turnovers, ${resultOf(results, turnoverJob(SETTINGS[0])).trials} filters, and the time of the first one in turnovers; the union bound ` +
        'over as many sets, with the exact tail. Second: "leave it at its maximum value. This can cause a later false negative only if ' +
        'eventually the counter goes down to 0 when it should have remained non-zero. If the deletions are random, the expected time to ' +
        'this event is relatively large." The time is counted in turnovers from the overflow of a counter, with its mean by a Markov ' +
        `chain. Then the first false negative of the filter since it was filled, and after ${TURNOVERS} turnovers: elements denied under the survey's ` +
        "rule; elements denied by the library's `CountingBloomFilter`, which never lowers a counter that has reached its maximum; and " +
        'the share of counters that this leaves stuck.',
    ],
    tables: [
      {
        head: ['bits', 'n', 'expected', 'measured', 'σ', 'first after', 'union bound'],
        rows: overflow,
        names: 2,
      },
      {
        head: [
          'bits',
          'n',
          'to the loss: theory',
          'measured',
          'σ',
          'first loss',
          'denied, survey: %',
          'denied, library',
          'stuck: %',
        ],
        rows: losses,
        names: 2,
        folds: [6],
      },
    ],
    notes: [
      'The time to an overflow is large where the survey says so. The time from the overflow to the false negative is not: a few ' +
        "turnovers, since the counter falls back to its mean as fast as its elements leave. The library's rule denies no element, and " +
        'pays with counters that stay at their maximum: they raise the rate of false positives until the filter is built again.',
    ],
  };
}
