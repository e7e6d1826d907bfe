/** The plot of the attack: contacts among 200 best guesses, by the number of filters. */

import type { Plot, Series } from '@bloomery/papers/drawing';
import type { AttackResults } from './attack-rows.ts';

const SHOWN: readonly (readonly [scene: string, name: string, kind: Series['kind']])[] = [
  ['plain, 1 %, other hashes each time', 'plain, 1 %, other hashes each time', 'line'],
  ['noisy after Ceglowski, 50 %', 'noisy after Ceglowski, 50 % each', 'line'],
  ['randomised, ε = 2, noise of its own each time', 'randomised, ε = 2, a new release each time', 'line'],
  ['randomised, ε = 2, the same noise', 'randomised, ε = 2, the same release', 'dashed'],
  ['keyed, attacker without the keys', 'keyed, without the keys', 'dashed'],
];

export function attackPlot({ rows, seeds }: AttackResults): Plot {
  return {
    title: `Contacts among the attacker's 200 best guesses (means of ${seeds} seeds)`,
    x: {
      label: 'filters in the attacker’s hands',
      scale: 'linear',
      from: 1,
      to: 10,
      ticks: [1, 2, 3, 5, 10],
    },
    y: { label: 'contacts', scale: 'log', from: 0.2, to: 300, ticks: [0.2, 1, 10, 100, 200] },
    series: SHOWN.map(([scene, name, kind], i) => ({
      name,
      kind,
      colour: i as Series['colour'],
      points: rows
        .filter((row) => row.scene === scene)
        .map(({ intercepted, best }) => [intercepted, best.mean] as const),
    })),
  };
}
