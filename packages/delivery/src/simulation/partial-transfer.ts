/**
 * A receiver and senders that hold parts of coded content, in rounds (Byers, Considine,
 * Mitzenmacher and Rost 2002). In each round every sender sends one symbol, by its strategy, and
 * knows nothing of the other senders. The transfer ends when the receiver has as many different
 * symbols as its decoder needs.
 *
 * The system holds `factor` times as many different symbols as the content has blocks: 1.1 in a
 * compact system, where nearly every symbol is needed, and 1.5 in a stretched one. Receiver and
 * partial senders hold x symbols each. A share c of every sender's symbols is held by the receiver
 * as well. The other symbols of a partial sender are exactly those that the receiver lacks, so x =
 * factor · blocks / (2 - c), and all partial senders have the same new symbols to offer. That is
 * the hardest case for senders that do not coordinate.
 *
 * The four strategies:
 *
 *  - `random`: a symbol of its own, drawn with replacement;
 *  - `random-filter`: the symbols that are not in a Bloom filter of the receiver, one after the
 *    other in random order; then as `random`. The filter is made once at the start;
 *  - `recode`: a sum of as many random symbols as fits the containment, which the receiver
 *    estimates by the sender's min-wise sketch and reports now and then;
 *  - `recode-filter`: the same among the symbols that the filter does not have.
 *
 * Symbols have ids and no bytes here. Ledger, sketch, filter and the choice of recoded symbols are
 * those of the product.
 */

import { randomStream } from '@bloomery/sim';
import { BloomFilter } from 'bloomery';
import { chooseRecoded, surelyNew } from '../codes/recode.ts';
import { type Reception, SymbolLedger } from '../codes/symbol-ledger.ts';
import { MOST_RECODED } from '../math/recoding.ts';
import { MinWiseSketch } from '../sketches/min-wise-sketch.ts';

export const STRATEGIES = ['random', 'random-filter', 'recode', 'recode-filter'] as const;
export type Strategy = (typeof STRATEGIES)[number];

export interface TransferSettings {
  readonly seed: number;
  readonly blocks: number;
  /** Different symbols in the system, in blocks: 1.1 is compact, 1.5 stretched. */
  readonly factor: number;
  /** Share of a partial sender's symbols that the receiver has at the start. */
  readonly containment: number;
  readonly strategy: Strategy;
  readonly partialSenders: number;
  /** Senders that hold all blocks, and send a coded symbol with a new id each round. */
  readonly fullSenders?: number;
  /** Different symbols that the decoder needs, in blocks: 1.02 by default. */
  readonly needed?: number;
  /** Rate of the receiver's filter, 0.01 by default. */
  readonly falsePositiveRate?: number;
  /** Gain of the receiver, as a share of the blocks, after which it reports again: 0.01. */
  readonly report?: number;
  /** The transfer counts as endless after this many symbols for each one needed: 50 by default. */
  readonly patience?: number;
}

export interface TransferResult {
  readonly isComplete: boolean;
  readonly rounds: number;
  readonly sent: number;
  /** Symbols that the receiver lacked at the start. */
  readonly lacked: number;
  /** Symbols that each side held at the start. */
  readonly held: number;
  /** The effect of the first symbol of the first partial sender. */
  readonly first: Reception | null;
  /** Symbols that the first partial sender found by the filter. */
  readonly offered: number;
}

interface Sender {
  /** The ids of the next symbol, given the containment that the receiver reported. */
  next(containment: number): number[];
  readonly sketch: MinWiseSketch;
}

export function simulateTransfer(settings: TransferSettings): TransferResult {
  const { seed, blocks, factor, containment, partialSenders, fullSenders = 0, strategy } = settings;
  const { needed = 1.02, report = 0.01, patience = 50 } = settings;
  const distinct = Math.round(factor * blocks);
  const held = Math.round(distinct / (2 - containment));
  const common = 2 * held - distinct;
  const wanted = Math.ceil(needed * blocks);
  const draw = randomStream(seed, 'sets');
  const ids = shuffled(distinct, draw);
  const ledger = new SymbolLedger({ sum: () => {}, freed: () => {} });
  for (const id of ids.slice(0, held)) ledger.receive([id], 0);
  const filter = BloomFilter.forCapacity({
    capacity: held,
    falsePositiveRate: settings.falsePositiveRate ?? 0.01,
    seed,
  });
  for (const [id] of ledger.entries()) filter.add(id);
  let offered = 0;
  const senders = Array.from({ length: partialSenders }, (_, number) => {
    const own = shuffledArray(ids.slice(0, held), draw).slice(0, common).concat(ids.slice(held));
    const fresh = strategy.endsWith('-filter') ? surelyNew(own, filter) : own;
    if (number === 0) offered = fresh.length;
    return senderOf(strategy, own, fresh, seed, randomStream(seed, `sender ${number}`));
  });
  const lacked = wanted - held;
  let reported = -1;
  let estimates: number[] = [];
  let first: Reception | null = null;
  let nextId = distinct;
  let sent = 0;
  let rounds = 0;
  const most = patience * Math.max(1, lacked);
  while (ledger.size < wanted && sent < most) {
    rounds++;
    if (ledger.size >= reported + report * blocks || reported < 0) {
      reported = ledger.size;
      const have = Array.from(ledger.entries(), ([id]) => id);
      estimates = strategy.startsWith('recode')
        ? senders.map(({ sketch }) => sketch.estimatedContainmentIn(have))
        : senders.map(() => 0);
    }
    for (const [number, sender] of senders.entries()) {
      const reception = ledger.receive(sender.next(estimates[number]), 0);
      first ??= reception;
      sent++;
    }
    for (let full = 0; full < fullSenders; full++) {
      ledger.receive([nextId++], 0);
      sent++;
    }
  }
  return { isComplete: ledger.size >= wanted, rounds, sent, lacked, held, first, offered };
}

function senderOf(
  strategy: Strategy,
  own: number[],
  fresh: number[],
  seed: number,
  random: () => number,
): Sender {
  const sketch = new MinWiseSketch({ seed });
  const pool = fresh.length > 0 ? fresh : own;
  if (strategy.startsWith('recode')) for (const id of pool) sketch.add(id);
  const order = shuffledArray([...fresh], random);
  let turn = 0;
  const next = (containment: number): number[] => {
    if (strategy === 'random-filter' && turn < order.length) return [order[turn++]];
    if (strategy.startsWith('random')) return [own[Math.floor(random() * own.length)]];
    return chooseRecoded(pool, { containment, mostDegree: MOST_RECODED, random });
  };
  return { next, sketch };
}

function shuffled(count: number, random: () => number): number[] {
  return shuffledArray(
    Array.from({ length: count }, (_, i) => i),
    random,
  );
}

/** Shuffles the array itself, and returns it. */
function shuffledArray(array: number[], random: () => number): number[] {
  for (let i = array.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const moved = array[i];
    array[i] = array[j];
    array[j] = moved;
  }
  return array;
}
