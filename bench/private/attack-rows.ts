/** The dictionary attack on every way to share, over several seeds: means and deviations. */

import { runScene, SCENE_NAMES } from '../../packages/overlay/dist/private/attack/attack-scenes.js';

export const STEPS = [1, 2, 3, 5, 10];

export interface Spread {
  readonly mean: number;
  /** Standard deviation of one run. */
  readonly sd: number;
}

interface AttackRow {
  readonly scene: string;
  readonly intercepted: number;
  readonly suspects: Spread;
  readonly found: Spread;
  readonly best: Spread;
}

export interface AttackResults {
  readonly seeds: number;
  readonly rows: readonly AttackRow[];
}

export function attackRows(seeds: number): AttackResults {
  const rows = SCENE_NAMES.flatMap((scene) => {
    const runs = Array.from({ length: seeds }, (_, seed) => runScene(scene, seed + 1, STEPS));
    return STEPS.map((intercepted, step) => {
      const column = (name: 'suspects' | 'found' | 'best') => spreadOf(runs.map((run) => run[step][name]));
      return {
        scene,
        intercepted,
        suspects: column('suspects'),
        found: column('found'),
        best: column('best'),
      };
    });
  });
  return { seeds, rows };
}

export function spreadOf(values: readonly number[]): Spread {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, sd: Math.sqrt(squares / Math.max(1, values.length - 1)) };
}
