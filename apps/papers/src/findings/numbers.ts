/**
 * Numbers as the tables of the papers show them: digits, errors, and bold where a formula
 * disagrees.
 */

import type { Summary } from '../trials/samples.ts';

/** 5 significant digits, as in the columns of formulas. */
export function digits(value: number, count = 5): string {
  if (value === 0) return '0';
  const text = value.toPrecision(count);
  return text.includes('e') ? text.replace(/e\+?(-?)(\d+)/, 'e$1$2') : text;
}

/** value ± error, the error with two digits and the value with as many as that. */
export function measured({ mean, error }: Pick<Summary, 'mean' | 'error'>): string {
  // Numbers that never vary still have a rounding error in their sum.
  if (!(error > 1e-9 * Math.abs(mean))) return digits(mean, 6);
  const exponent = Math.floor(Math.log10(Math.max(Math.abs(mean), error)));
  if (exponent >= -4) return plusMinus(mean, error);
  return `(${plusMinus(mean / 10 ** exponent, error / 10 ** exponent)})e${exponent}`;
}

export function percent(share: number, decimals = 2): string {
  return `${(100 * share).toFixed(decimals)} %`;
}

/**
 * The printed number; bold where the formula, rounded to the digits that are printed, gives
 * something else.
 */
export function printed(text: string, value: number): string {
  return value.toFixed(text.split('.')[1]?.length ?? 0) === text ? text : `**${text}**`;
}

function plusMinus(mean: number, error: number): string {
  const decimals = Math.max(0, 1 - Math.floor(Math.log10(error)));
  return `${mean.toFixed(decimals)} ± ${error.toFixed(decimals)}`;
}
