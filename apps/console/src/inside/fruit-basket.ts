/**
 * The example of Ceglowski, *Using Bloom Filters* (perl.com, 2004): three hash functions, 14 bits,
 * and the positions that the article gives by hand. Pure.
 *
 * `apples` and `plums` share bit 11. Taking `apples` out by turning its bits off breaks `plums`.
 * With counters in place of bits it does not.
 */

export const FRUITS = {
  apples: [3, 12, 11],
  plums: [11, 1, 8],
  mango: [8, 3, 12],
} as const;
export type Fruit = keyof typeof FRUITS;

export const BASKET_BITS = 14;

export interface Basket {
  /** 0 or 1 in a filter of bits, any count in one of counters. */
  readonly cells: readonly number[];
  readonly isCounting: boolean;
  /** The keys that were added and not taken out, whatever the filter says. */
  readonly held: readonly Fruit[];
}

/** The filter as the article has it when it asks for `mango`. */
export function firstBasket(isCounting = false): Basket {
  const empty: Basket = { cells: new Array(BASKET_BITS).fill(0), isCounting, held: [] };
  return addFruit(addFruit(empty, 'apples'), 'plums');
}

export function addFruit(basket: Basket, fruit: Fruit): Basket {
  if (basket.held.includes(fruit)) return basket;
  const cells = basket.cells.map((cell, i) => {
    if (!isAt(fruit, i)) return cell;
    return basket.isCounting ? cell + 1 : 1;
  });
  return { ...basket, cells, held: [...basket.held, fruit] };
}

/** Takes a key out as one might try to: by reversing what adding did. */
export function takeOut(basket: Basket, fruit: Fruit): Basket {
  if (!basket.held.includes(fruit)) return basket;
  const cells = basket.cells.map((cell, i) => {
    if (!isAt(fruit, i)) return cell;
    return basket.isCounting ? cell - 1 : 0;
  });
  return { ...basket, cells, held: basket.held.filter((other) => other !== fruit) };
}

function mayHold({ cells }: Basket, fruit: Fruit): boolean {
  return FRUITS[fruit].every((position) => cells[position] > 0);
}

export type Verdict = 'right-maybe' | 'right-no' | 'false-positive' | 'false-negative';

/** The answer of the filter, compared with the truth. */
export function verdictOf(basket: Basket, fruit: Fruit): Verdict {
  const isHeld = basket.held.includes(fruit);
  if (mayHold(basket, fruit)) return isHeld ? 'right-maybe' : 'false-positive';
  return isHeld ? 'false-negative' : 'right-no';
}

/** The positions of a key that are empty now. */
export function lostBits({ cells }: Basket, fruit: Fruit): number[] {
  return FRUITS[fruit].filter((position) => cells[position] === 0);
}

function isAt(fruit: Fruit, position: number): boolean {
  return (FRUITS[fruit] as readonly number[]).includes(position);
}
