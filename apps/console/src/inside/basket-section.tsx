/** Ceglowski's example: fourteen bits, three keys, and what happens when one is taken out. */

import { useState } from 'preact/hooks';
import {
  addFruit,
  BASKET_BITS,
  type Basket,
  FRUITS,
  type Fruit,
  firstBasket,
  lostBits,
  takeOut,
  type Verdict,
  verdictOf,
} from './fruit-basket.ts';

const VERDICTS: Record<Verdict, (fruit: Fruit) => string> = {
  'right-maybe': () => 'Maybe. And it was added.',
  'right-no': () => 'Certainly not. And it was not added.',
  'false-positive': (fruit) => `Maybe. But ${fruit} was never added: a false positive.`,
  'false-negative': (fruit) => `Certainly not. But ${fruit} was added: the filter is broken.`,
};

export function BasketSection() {
  const [basket, setBasket] = useState(() => firstBasket());
  const [chosen, setChosen] = useState<Fruit>('mango');
  const names = Object.keys(FRUITS) as Fruit[];
  return (
    <section aria-labelledby="basket-title">
      <h2 id="basket-title">Fourteen bits</h2>
      <p>
        Each key sets three bits. The example and its positions are those of Maciej Ceglowski’s article of
        2004. Take <code>apples</code> out, and ask for <code>plums</code>.
      </p>
      <Cells basket={basket} chosen={chosen} />
      <ul class="fruits">
        {names.map((fruit) => (
          <FruitRow
            key={fruit}
            fruit={fruit}
            basket={basket}
            isChosen={fruit === chosen}
            choose={() => setChosen(fruit)}
            change={(next) => {
              setChosen(fruit);
              setBasket(next);
            }}
          />
        ))}
      </ul>
      <p
        role="status"
        class={`verdict ${verdictOf(basket, chosen)}`}
        data-verdict={verdictOf(basket, chosen)}
      >
        <code>{chosen}</code>? {VERDICTS[verdictOf(basket, chosen)](chosen)}
      </p>
      {names
        .filter((fruit) => verdictOf(basket, fruit) === 'false-negative')
        .map((fruit) => (
          <Broken key={fruit} fruit={fruit} lost={lostBits(basket, fruit)} />
        ))}
      <p class="buttons">
        <label class="choice">
          <input
            type="checkbox"
            checked={basket.isCounting}
            onChange={(event) => setBasket(firstBasket(event.currentTarget.checked))}
          />
          Count in each place instead of marking it
        </label>
        <button type="button" onClick={() => setBasket(firstBasket(basket.isCounting))}>
          Start again
        </button>
      </p>
    </section>
  );
}

function Broken({ fruit, lost }: { fruit: Fruit; lost: readonly number[] }) {
  const what = lost.length === 1 ? `Bit ${lost[0]}` : `Bits ${lost.join(' and ')}`;
  return (
    <p>
      {what} belonged to <code>{fruit}</code> as well. A filter of bits cannot forget a key: it has to be
      built again without it, or hold counters.
    </p>
  );
}

function Cells({ basket, chosen }: { basket: Basket; chosen: Fruit }) {
  const positions = FRUITS[chosen] as readonly number[];
  return (
    <ol class="cells-row" aria-label={`${BASKET_BITS} ${basket.isCounting ? 'counters' : 'bits'}`}>
      {basket.cells.map((value, i) => (
        <li key={i} class={`${value > 0 ? 'set' : 'unset'}${positions.includes(i) ? ' of-key' : ''}`}>
          <span class="place">{i}</span>
          <span class="value">{value}</span>
          {positions.includes(i) ? <span class="hidden-text"> of {chosen}</span> : null}
        </li>
      ))}
    </ol>
  );
}

interface FruitRowProps {
  readonly fruit: Fruit;
  readonly basket: Basket;
  readonly isChosen: boolean;
  readonly choose: () => void;
  readonly change: (basket: Basket) => void;
}

function FruitRow({ fruit, basket, isChosen, choose, change }: FruitRowProps) {
  const isHeld = basket.held.includes(fruit);
  return (
    <li class={isChosen ? 'chosen' : ''}>
      <code>{fruit}</code>
      <span class="quiet">{[...FRUITS[fruit]].join(', ')}</span>
      <button type="button" aria-pressed={isChosen} onClick={choose}>
        Ask<span class="hidden-text"> for {fruit}</span>
      </button>
      <button type="button" disabled={isHeld} onClick={() => change(addFruit(basket, fruit))}>
        Add<span class="hidden-text"> {fruit}</span>
      </button>
      <button type="button" disabled={!isHeld} onClick={() => change(takeOut(basket, fruit))}>
        Take out<span class="hidden-text"> {fruit}</span>
      </button>
    </li>
  );
}
