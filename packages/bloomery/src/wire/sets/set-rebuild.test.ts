import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { PositionSum, positionOf } from './positions.ts';
import { SetRebuild } from './set-rebuild.ts';

interface Hash {
  readonly low: number;
  readonly high: number;
}

/** Few upper halves, so that many hashes share one, and few positions. */
const HASHES: readonly Hash[] = Array.from({ length: 400 }, (_, i) => ({ low: i, high: (i % 7) * 2 ** 28 }));

test.each([
  ['a live collection', true],
  ['a copy of it', false],
])('SetRebuild is the set of all hashes at the end, walking through %s', (_, isLive) => {
  const random = new Random(3);
  for (const universe of [1, 40, 2 ** 40]) {
    const live = new Set(HASHES.slice(0, 300));
    const rebuild = new SetRebuild(universe, 0);
    for (const hash of isLive ? live : [...live]) {
      rebuild.visit(hash);
      const changed = HASHES[random.below(HASHES.length)];
      if (random.below(3) > 0) continue;
      if (live.delete(changed)) rebuild.delete(changed);
      else {
        live.add(changed);
        rebuild.add(changed);
      }
    }
    const positions = new Set([...live].map((hash) => positionOf(hash, universe)));
    expect([...rebuild.set.settled]).toEqual([...positions].sort((a, b) => a - b));
    const sum = PositionSum.ofEmpty(universe, 0);
    for (const position of positions) sum.add(position);
    expect(rebuild.sum.value).toBe(sum.value);
    // The counts are right as well: the set is empty when all are deleted, and not before.
    const hashes = [...live];
    for (const [i, hash] of hashes.entries()) {
      rebuild.set.delete(positionOf(hash, universe));
      expect(rebuild.set.size === 0).toBe(i === hashes.length - 1);
    }
  }
});
