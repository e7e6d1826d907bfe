/**
 * "absent" is never wrong, whatever fails: nodes announce, withdraw and locate at random while
 * machines crash, links are cut, and nodes are slow or have wrong clocks. An answer "absent" is
 * compared with the truth: was the key announced and confirmed before the question, and held until
 * its answer?
 */

import { explore, failureText, type HostContext, type Scenario, type World } from '@bloomery/sim';
import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { RendezvousDirectory, RouteNode } from '../../src/routing/index.ts';
import { PLAN } from './route-fleet.ts';

const NODES = Array.from({ length: 7 }, (_, i) => `n${i}`);
const SEEDS = Array.from({ length: withEffort(6) }, (_, i) => i + 1);

interface Claim {
  readonly holder: RouteNode;
  isSettled: boolean;
  isHeld: boolean;
}

/**
 * A node without neighbours: filters find most keys before the directory is asked, and would hide
 * its mistakes. Beats are long, so that owners that lost their records are asked before they have
 * them again.
 */
function program({ transport, clock }: HostContext): RouteNode {
  const directory = new RendezvousDirectory({ transport, clock, beatMs: 3000 });
  return new RouteNode({ transport, clock, plan: PLAN, directory, neighbours: () => [], intervalMs: 10_000 });
}

/** The truth about all keys, and the answers that contradicted it. */
class Truth {
  readonly claims = new Map<string, Claim>();
  readonly wrong: string[] = [];
  readonly counts = { found: 0, absent: 0, unknown: 0, settled: 0 };
}

function scenario(truth: (world: World<RouteNode>) => Truth): Scenario<RouteNode> {
  return {
    nodes: NODES,
    program,
    faultyMs: 60_000,
    quietMs: 30_000,
    faults: 30,
    // Damaged bytes would need the signatures that the HTTP adapter has.
    faultKinds: ['crash', 'crash', 'crash', 'cut', 'slow', 'skew'],
    load: (world) => {
      const state = truth(world);
      for (let ms = 3000; ms < 85_000; ms += 50) world.simulation.after(ms, () => act(world, state));
    },
    invariant: (world) => truth(world).wrong[0] ?? null,
    converged: (world) => {
      // After the quiet time every node finds every key that is held.
      const { wrong, counts } = truth(world);
      if (wrong.length > 0) return wrong[0];
      return counts.found > 20 && counts.absent > 5 ? null : `too few answers: ${JSON.stringify(counts)}`;
    },
    checkEvery: 500,
  };
}

function act({ simulation, hosts }: World<RouteNode>, truth: Truth): void {
  const random = simulation.random(`act ${simulation.elapsedMs}`);
  const { program } = hosts[Math.floor(random() * hosts.length)];
  if (program === undefined) return;
  const key = `key ${Math.floor(random() * 12)}`;
  const claim = truth.claims.get(key);
  const what = random();
  if (what < 0.25) {
    // A key has one holder at a time, so that the truth is simple.
    if (claim?.isHeld && hosts.some((host) => host.program === claim.holder)) return;
    const fresh: Claim = { holder: program, isSettled: false, isHeld: true };
    truth.claims.set(key, fresh);
    void program.announce(key).then((isSettled) => {
      fresh.isSettled = isSettled;
      if (isSettled) truth.counts.settled++;
    });
  } else if (what < 0.35) {
    if (claim?.isHeld !== true) return;
    claim.isHeld = false;
    void claim.holder.withdraw(key);
  } else {
    const wasSettled = claim?.isSettled === true && claim.isHeld;
    void program.locate(key).then((answer) => {
      truth.counts[answer.status]++;
      const isThere = wasSettled && claim.isHeld && hosts.some((host) => host.program === claim.holder);
      if (answer.status === 'absent' && isThere)
        truth.wrong.push(`${key} is held, and was said to be absent`);
    });
  }
}

test('no node says that a key is absent which was announced, confirmed and held', async () => {
  const truths = new WeakMap<World<RouteNode>, Truth>();
  const truthOf = (world: World<RouteNode>) => {
    let truth = truths.get(world);
    if (truth === undefined) truths.set(world, (truth = new Truth()));
    return truth;
  };
  const failure = await explore(scenario(truthOf), { seeds: SEEDS });
  expect(failure === null ? '' : failureText(failure)).toBe('');
});
