/**
 * The similarity of documents, pair by pair: the estimated share of common terms (Jaccard) with its
 * interval, from the ones of two filters and the known numbers of terms (`estimateJoinSize`).
 *
 * The interval of the library is that of a normal distribution. With few terms, collisions in the
 * filter are so rare that their number is 0 or 1, and the normal interval would be narrower than
 * one term. So ours reaches at least one term to each side.
 *
 * A document with fewer than 20 terms is called short. Its similarity is estimated as well as the
 * others, but it says little: one word more or less changes it by a twentieth or more.
 */

import type { Estimate } from 'bloomery';
import { estimateJoinSize } from 'bloomery/math';
import type { TextDocument } from './text-document.ts';

export interface DocumentPair {
  readonly a: TextDocument;
  readonly b: TextDocument;
  /** Common terms. As all estimates of the library, it may lie below 0. */
  readonly intersection: Estimate;
  /** Common terms as a share of all terms of both. NaN if that is unknown. */
  readonly jaccard: Estimate;
}

/** Documents with fewer terms are short. */
export const SHORT = 20;

/** Intervals wider than this are told to the user. */
export const WIDE = 0.1;

export function comparePair(a: TextDocument, b: TextDocument, confidence: number): DocumentPair {
  const common = estimateJoinSize({
    bits: a.filter.bits,
    hashes: 1,
    ones1: a.ones,
    ones2: b.ones,
    onesAnd: a.filter.sharedOnesCount(b.filter),
    size1: a.terms,
    size2: b.terms,
    confidence,
  });
  const { value, standardError } = common;
  if (Number.isNaN(value)) return { a, b, intersection: common, jaccard: UNKNOWN };
  const reach = Math.max(1, (common.high - common.low) / 2);
  const intersection = { value, low: value - reach, high: value + reach, standardError };
  // Terms in common are at most those of the smaller document.
  const most = Math.min(a.terms, b.terms);
  const total = a.terms + b.terms;
  const share = (shared: number) => Math.min(shared, most) / (total - Math.min(shared, most));
  const jaccard: Estimate = {
    value: share(value),
    low: share(value - reach),
    high: share(value + reach),
    standardError: (standardError * total) / (total - Math.min(value, most)) ** 2,
  };
  return { a, b, intersection, jaccard };
}

/** A filter has no zeros left. */
const UNKNOWN: Estimate = { value: Number.NaN, low: 0, high: 1, standardError: Number.POSITIVE_INFINITY };

/** The most similar pairs, the first the most similar; equal ones in the order of the documents. */
export class TopPairs {
  readonly #most: number;
  #pairs: DocumentPair[] = [];
  /** The number of all pairs that were offered. */
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  offer(pair: DocumentPair): void {
    this.count++;
    this.#pairs.push(pair);
    if (this.#pairs.length >= 2 * this.#most + 1000) this.#cut();
  }

  /** The pairs, sorted. */
  best(): readonly DocumentPair[] {
    this.#cut();
    return this.#pairs;
  }

  #cut(): void {
    const value = ({ jaccard }: DocumentPair) => (Number.isNaN(jaccard.value) ? -1 : jaccard.value);
    this.#pairs = this.#pairs.sort((one, other) => value(other) - value(one)).slice(0, this.#most);
  }
}
