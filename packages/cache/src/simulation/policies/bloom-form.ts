/**
 * The bytes that the updates of a simulated node would take in other forms: as a Bloom filter with
 * the rate that its set has. A filter with the same contents is kept beside the production summary,
 * and at each update of the summary the library codes the filter as well. Which neighbours are
 * asked does not depend on the form, only on the rate, so the nodes decide by the set in all forms.
 *
 * - `plain`: the whole filter, with the fewest bits for the rate;
 * - `compressed`: the whole filter, coded, with the size and number of hash functions that make
 *   the coded filter smallest within 24 bits per key (Mitzenmacher, "Compressed Bloom Filters");
 * - `delta`: the changed bits, coded, with those that make the delta smallest within 24 bits.
 *
 * `planSummary` chooses the filters. Updates that leave removals for later (`shouldSend`) are coded
 * with them here, which is in favour of these forms: there is no second message.
 */

import { CountingBloomFilter, type KeyHash } from 'bloomery';
import { planSummary } from 'bloomery/math';
import { Publisher } from 'bloomery/wire';

export const BLOOM_FORMS = ['plain', 'compressed', 'delta'] as const;
export type BloomFormName = (typeof BLOOM_FORMS)[number];

/** Bits per key that a receiver spends at most. */
const MOST_BITS_PER_KEY = 24;

export interface BloomFormOptions {
  readonly form: BloomFormName;
  readonly entries: number;
  readonly falsePositiveRate: number;
  /** Share of the keys that changes between two updates. */
  readonly changedShare: number;
}

export class BloomForm {
  readonly #form: BloomFormName;
  readonly #publisher: Publisher;

  constructor({ form, entries, falsePositiveRate, changedShare }: BloomFormOptions) {
    this.#form = form;
    const request = { capacity: entries, falsePositiveRate, changedFraction: changedShare };
    const filters = planSummary(request).forms.filter(({ structure }) => structure === 'bloom');
    const most = MOST_BITS_PER_KEY * entries;
    const cost = ({ deltaBytes, fullBytes, bits }: (typeof filters)[number]) =>
      form === 'plain' ? bits : bits > most ? Infinity : form === 'delta' ? deltaBytes : fullBytes;
    const best = filters.reduce((least, each) => (cost(each) < cost(least) ? each : least));
    const filter = new CountingBloomFilter({ counters: best.bits, hashes: best.hashes, trackChanges: true });
    this.#publisher = new Publisher({ incarnation: 1, filter, effort: 'fast', historyGenerations: 0 });
  }

  added(hash: KeyHash): void {
    this.#publisher.addHash(hash);
  }

  removed(hash: KeyHash): void {
    this.#publisher.deleteHash(hash);
  }

  /** Bytes of an update now. */
  updateBytes(): number {
    const delta = this.#publisher.publish();
    if (this.#form === 'delta') return delta?.length ?? 0;
    if (this.#form === 'compressed') return this.#publisher.full().length;
    return this.#publisher.filter.snapshot().encode().length;
  }
}
