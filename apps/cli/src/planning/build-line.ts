/**
 * The command that builds the filter of a plan. Where the plan follows from capacity and rate
 * alone, `build` finds the same bits and hashes by itself, and the line names only these two.
 * Otherwise it names bits and hashes, so that `build` has nothing left to choose.
 */

import type { Plan, PlanRequest } from 'bloomery/math';
import { defaultLayout } from './default-structure.ts';

export function buildLine(found: Plan, request: PlanRequest): string[] {
  const { layout, goal, capacity, bits, hashes } = found;
  const { falsePositiveRate: rate, hashes: givenHashes } = request;
  const followsFromRate =
    goal === 'memory' &&
    rate !== undefined &&
    request.capacity !== undefined &&
    request.bits === undefined &&
    request.maxBits === undefined &&
    request.maxHashes === undefined;
  const size = followsFromRate
    ? ['-r', shortRate(rate), ...(givenHashes === undefined ? [] : ['-k', String(givenHashes)])]
    : ['--bits', shortCount(bits), ...(layout === 'split-block' ? [] : ['-k', String(hashes)])];
  return [
    'bloomery',
    'build',
    'KEYS',
    '-N',
    shortCount(capacity),
    ...size,
    ...structureOf(found, request),
    '-o',
    'FILE',
  ];
}

function structureOf(
  { layout, goal, structure }: Plan,
  { falsePositiveRate, hashes, bits }: PlanRequest,
): string[] {
  if (structure === 'counting') {
    return ['-s', 'counting', ...(layout === 'classic' ? [] : ['--layout', layout])];
  }
  const known = { rate: bits === undefined && goal === 'memory' ? falsePositiveRate : undefined, hashes };
  return layout === defaultLayout(known) ? [] : ['--layout', layout];
}

/** 350k, 1M: the short form if it is exact. */
function shortCount(count: number): string {
  if (count % 1e6 === 0) return `${count / 1e6}M`;
  return count % 1e3 === 0 ? `${count / 1e3}k` : String(count);
}

function shortRate(rate: number): string {
  const percent = Number((100 * rate).toPrecision(15));
  return percent / 100 === rate ? `${percent}%` : String(rate);
}
