/**
 * Operations on whole arrays of packed counters: conversion to bits, addition, comparison. They run
 * now and then and not for each key, so they exist in JavaScript only. Counters are packed as in
 * counting.ts; unused ones at the end are 0.
 */

import { evenBits, onesOf } from '../../kernel/bits/bit-operations.ts';

/**
 * One bit per counter: 1 where it is not 0. This is the snapshot of a counting filter, in one pass.
 */
export function nonZeroBits(counters: Uint32Array, counterBits: number, bits: Uint32Array): void {
  const perWord = 32 / counterBits;
  for (let i = 0, at = 0; i < counters.length; i++, at += perWord) {
    const word = counters[i];
    if (word !== 0)
      bits[Math.floor(at / 32)] |= gather(nonZeroLanes(word, counterBits), counterBits) << (at & 31);
  }
}

export function countNonZero(counters: Uint32Array, counterBits: number): number {
  let count = 0;
  for (let i = 0; i < counters.length; i++) count += onesOf(nonZeroLanes(counters[i], counterBits));
  return count;
}

/** How many counters are non-zero in both. */
export function countBothNonZero(a: Uint32Array, b: Uint32Array, counterBits: number): number {
  let count = 0;
  for (let i = 0; i < a.length; i++) {
    count += onesOf(nonZeroLanes(a[i], counterBits) & nonZeroLanes(b[i], counterBits));
  }
  return count;
}

/** How many counters have reached their maximum. */
export function countSaturated(counters: Uint32Array, counterBits: number): number {
  const lanes = lowestBits(counterBits);
  let count = 0;
  for (let i = 0; i < counters.length; i++) {
    count += onesOf(lanes & ~nonZeroLanes(~counters[i], counterBits));
  }
  return count;
}

/** The function that combines a pair of counters. */
export type CombineCounters = (mine: number, other: number, most: number) => number;

/**
 * The sum. A counter at its maximum does not know its count, so the sum with any other stays at the
 * maximum.
 */
export const addSaturating: CombineCounters = (mine, other, most) => Math.min(mine + other, most);

export const smaller: CombineCounters = (mine, other) => Math.min(mine, other);

/** Replaces each counter of `target` by its combination with the same counter of `other`. */
export function combineCounters(
  target: Uint32Array,
  other: Uint32Array,
  counterBits: number,
  combine: CombineCounters,
): void {
  const most = (1 << counterBits) - 1;
  for (let i = 0; i < target.length; i++) {
    const mine = target[i];
    const theirs = other[i];
    if ((mine | theirs) === 0) continue;
    let word = 0;
    for (let shift = 0; shift < 32; shift += counterBits) {
      word |= combine((mine >>> shift) & most, (theirs >>> shift) & most, most) << shift;
    }
    target[i] = word;
  }
}

/** Whether no counter of `a` is larger than the same counter of `b`. */
export function noneLarger(a: Uint32Array, b: Uint32Array, counterBits: number): boolean {
  const most = (1 << counterBits) - 1;
  for (let i = 0; i < a.length; i++) {
    if (a[i] === b[i]) continue;
    for (let shift = 0; shift < 32; shift += counterBits) {
      if (((a[i] >>> shift) & most) > ((b[i] >>> shift) & most)) return false;
    }
  }
  return true;
}

/** The lowest bit of each counter in a word: 0x55555555, 0x11111111, 0x01010101 or 0x00010001. */
function lowestBits(counterBits: number): number {
  return 0xffffffff / ((1 << counterBits) - 1);
}

/** The lowest bit of each counter is set if any of its bits is. */
function nonZeroLanes(word: number, counterBits: number): number {
  for (let shift = 1; shift < counterBits; shift *= 2) word |= word >>> shift;
  // Bits that were shifted in from a neighbour lie above the lowest bit, and are dropped here.
  return word & lowestBits(counterBits);
}

/** Packs the lowest bits of the lanes side by side. */
function gather(lanes: number, counterBits: number): number {
  let bits = lanes;
  for (let width = counterBits; width > 1; width /= 2) bits = evenBits(bits);
  return bits;
}
