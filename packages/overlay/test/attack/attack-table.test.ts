/**
 * The table of docs/guide/private.md, again with other seeds: every mean of
 * bench/results/private.json lies within five standard errors of the runs here.
 */

import { readFileSync } from 'node:fs';
import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { runScene, SCENE_NAMES } from '../../src/private/attack/attack-scenes.ts';

interface Spread {
  readonly mean: number;
  readonly sd: number;
}
type Row = { readonly scene: string; readonly intercepted: number } & Record<
  'suspects' | 'found' | 'best',
  Spread
>;

const { attack } = JSON.parse(
  readFileSync(new URL('../../../../bench/results/private.json', import.meta.url), 'utf8'),
) as { attack: { seeds: number; rows: Row[] } };
const STEPS = [1, 2, 3, 5, 10];
const SEEDS = withEffort(2, 2);

describe('the dictionary attack on 200 contacts among 100,000 addresses', () => {
  test('the table has every scene', () => {
    expect([...new Set(attack.rows.map((row) => row.scene))]).toEqual(SCENE_NAMES);
  });

  test.each(SCENE_NAMES)('%s: as in the table', (scene) => {
    const runs = Array.from({ length: SEEDS }, (_, i) => runScene(scene, 1000 + i, STEPS));
    for (const [step, intercepted] of STEPS.entries()) {
      const row = attack.rows.find((each) => each.scene === scene && each.intercepted === intercepted) as Row;
      for (const column of ['suspects', 'found', 'best'] as const) {
        const mean = runs.reduce((sum, run) => sum + run[step][column], 0) / SEEDS;
        const { mean: expected, sd } = row[column];
        // A column of counts near 0 or 200 can have a sample deviation of 0; a count is off by one.
        const deviation = Math.max(sd, 0.2) * Math.sqrt(1 / SEEDS + 1 / attack.seeds);
        expectNormal(mean, expected, deviation, `${column} with ${intercepted} filters`);
      }
    }
  });

  test('all 200 of 200 contacts are in the list that a plain filter leaves, with every seed', () => {
    for (let seed = 2000; seed < 2000 + SEEDS; seed++) {
      const [first] = runScene('plain, 1 %', seed, [1]);
      expect(first.found).toBe(200);
      expect(first.suspects).toBeLessThan(2000);
    }
  });
});
