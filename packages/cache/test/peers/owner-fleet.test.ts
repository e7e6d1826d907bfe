import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type FleetOptions, type FleetResult, runFleet } from './owner-fleet.ts';

/** Time of one download in the model: the head and 40 pieces. */
const DOWNLOAD_MS = 450;

/** Runs fleets with many seeds, and checks what holds for all of them. */
function fleets(
  seeds: number,
  options: (random: Random) => Omit<FleetOptions, 'random'>,
  check: (result: FleetResult, seed: string) => void,
): void {
  for (let seed = 0; seed < seeds; seed++) {
    const random = new Random(seed);
    const result = runFleet({ random, ...options(random) });
    const where = `seed ${seed}: ${JSON.stringify(result)}`;
    expect(result.stuck, `every live node gets the object, ${where}`).toBe(0);
    expect(result.circles, `no nodes wait for each other, ${where}`).toBe(0);
    expect(result.mostHops, where).toBeLessThanOrEqual(2);
    expect(result.mostReaders, where).toBeLessThanOrEqual(2);
    check(result, where);
  }
}

for (const nodes of [2, 16, 64, 256]) {
  test(`a herd of ${nodes} nodes fetches once and forms a tree of depth log2(N)`, () => {
    fleets(
      withEffort(nodes > 64 ? 3 : 20),
      (random) => ({ nodes, spreadMs: random.pick([1, 5, 50, 300]) }),
      ({ fetches, depth, endMs }, where) => {
        expect(fetches, where).toBe(1);
        expect(depth, where).toBeLessThanOrEqual(Math.log2(nodes));
        expect(endMs, where).toBeLessThan(1.5 * DOWNLOAD_MS + 300);
      },
    );
  });
}

test('a node that is killed while its body comes costs one further fetch at most', () => {
  fleets(
    withEffort(300, 30),
    (random) => ({ nodes: 16, spreadMs: 50, kills: 1 + random.below(5), killsAfterMs: 150 }),
    ({ fetches, told, owners, kills, unanswered, inVain }, where) => {
      // Each owner tells the first node to fetch, and each kill may make it tell one more. A
      // question to a dead owner has no answer.
      expect(told + inVain, where).toBeLessThanOrEqual(owners + kills);
      if (unanswered === 0 && kills === 1) expect(fetches, where).toBeLessThanOrEqual(2);
    },
  );
});

test('nodes that are killed before their head let the others fetch when the budget is over', () => {
  fleets(
    withEffort(300, 30),
    (random) => ({ nodes: 16, spreadMs: 50, kills: 1 + random.below(5) }),
    ({ told, owners, kills, endMs }, where) => {
      expect(told, where).toBeLessThanOrEqual(owners + kills);
      expect(endMs, where).toBeLessThan(10_000);
    },
  );
});

test('a lost question or answer costs one fetch', () => {
  fleets(
    withEffort(200, 20),
    () => ({ nodes: 16, spreadMs: 50, lossRate: 0.1 }),
    ({ told, fetches, unanswered }, where) => {
      expect(told, where).toBeLessThanOrEqual(1);
      expect(fetches, where).toBe(told + unanswered);
    },
  );
});

test('lists of members that disagree and change cost one fetch for each owner', () => {
  fleets(
    withEffort(200, 20),
    (random) => ({ nodes: 16, spreadMs: 50, views: 1 + random.below(8), flapping: random.below(2) === 0 }),
    ({ fetches, owners }, where) => expect(fetches, where).toBe(owners),
  );
});

/** All faults at once. */
function faults(random: Random): Omit<FleetOptions, 'random'> {
  return {
    nodes: 2 + random.below(20),
    spreadMs: random.pick([1, 20, 100, 500]),
    kills: random.below(6),
    lossRate: random.pick([0, 0.05, 0.3]),
    views: 1 + random.below(8),
    flapping: random.below(2) === 0,
    headMs: random.pick([5, 50, 150, 400]),
  };
}

test('with all faults at once, every live node gets the object within seconds', () => {
  fleets(withEffort(500, 50), faults, ({ told, owners, kills, unanswered, endMs }, where) => {
    expect(told, where).toBeLessThanOrEqual(owners + kills + unanswered);
    expect(endMs, where).toBeLessThan(20_000);
  });
});

test('without beats, every live node gets the object all the same', () => {
  fleets(
    withEffort(200, 20),
    (random) => ({ ...faults(random), beats: false }),
    ({ endMs }, where) => expect(endMs, where).toBeLessThan(20_000),
  );
});
