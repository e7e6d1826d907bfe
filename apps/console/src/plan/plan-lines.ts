/** The plan as lines to copy: TypeScript and shell. Pure. */

import type { Plan } from 'bloomery/math';
import { shortCount } from '../page/number-text.ts';
import type { PlanState } from './plan-state.ts';

/** The line that makes the filter. `forCapacity` finds the same bits and hashes by itself. */
export function codeLine(state: PlanState, found: Plan): string {
  const capacity = grouped(found.capacity);
  if (state.goal === 'memory' && state.given === 'rate') {
    const fixed = state.hashes === null ? '' : `, hashes: ${state.hashes}`;
    return `BloomFilter.forCapacity({ capacity: ${capacity}, falsePositiveRate: ${state.rate}${fixed} })`;
  }
  return `new BloomFilter({ bits: ${grouped(found.bits)}, hashes: ${found.hashes}, capacity: ${capacity} })`;
}

/** The same question to the command. */
export function planLine(state: PlanState): string {
  const { goal, given, capacity, rate, budget, limit, changed, hashes } = state;
  const words = ['bloomery plan', '--capacity', shortCount(capacity)];
  if (given === 'rate') words.push('--rate', String(rate));
  else if (goal === 'memory') words.push('--bits', String(Math.max(1, Math.round(budget * capacity))));
  else words.push('--message-bits', String(Math.max(1, Math.round(budget * capacity))));
  if (goal !== 'memory') {
    words.push('--for', goal, '--max-bits', String(Math.max(1, Math.round(limit * capacity))));
  }
  if (goal === 'delta') words.push('--changed', String(changed));
  if (hashes !== null) words.push('--hashes', String(hashes));
  words.push('--layout', 'classic');
  return words.join(' ');
}

/** The command that builds the filter from a file of keys. */
export function buildLine({ bits, hashes, capacity }: Plan): string {
  return `bloomery build keys.txt --capacity ${shortCount(capacity)} --bits ${bits} --hashes ${hashes} --layout classic -o keys.blm`;
}

/** 1_000_000 */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, '_');
}
