/**
 * "absent" is never wrong, whatever fails: nodes announce, withdraw and locate at random while
 * machines crash, links are cut, and nodes are slow or have wrong clocks. An answer "absent" is
 * compared with the truth: was the key announced and confirmed before the question, and held until
 * its answer?
 *
 * Random crashes seldom meet both owners of a key that is asked for, and one of them is enough for
 * a right answer. So both owners of a key crash together now and then, and the key is asked for
 * while they come back. With that the test finds an owner that takes itself for complete; without
 * it, it did not.
 */

import { explore, failureText, type HostContext, type Scenario, type World } from '@bloomery/sim';
import { withEffort } from '@bloomery/testkit/effort';
import { rendezvousOrder } from '@bloomery/transport';
import { hashKey } from 'bloomery';
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
  const directory = new RendezvousDirectory({ transport, clock, beatMs: 3000, settleMs: 0 });
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
      for (let ms = 8000; ms < 85_000; ms += 4000) world.simulation.after(ms, () => loseOwners(world, state));
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
    locate(program, key, hosts, truth);
  }
}

/** Asks a node for a key, and compares the answer with the truth. */
function locate(node: RouteNode, key: string, hosts: World<RouteNode>['hosts'], truth: Truth): void {
  const claim = truth.claims.get(key);
  const wasSettled = claim?.isSettled === true && claim.isHeld;
  void node.locate(key).then((answer) => {
    truth.counts[answer.status]++;
    const isThere = wasSettled && claim.isHeld && hosts.some((host) => host.program === claim.holder);
    if (answer.status === 'absent' && isThere) truth.wrong.push(`${key} is held, and was said to be absent`);
  });
}

/** Both owners of a key that a third node holds crash, and come back without their records. */
function loseOwners({ simulation, hosts }: World<RouteNode>, truth: Truth): void {
  for (const [key, { holder, isSettled, isHeld }] of truth.claims) {
    const owners = rendezvousOrder(hashKey(key), NODES).slice(0, 2);
    const owning = hosts.filter(({ id }) => owners.includes(id));
    const others = hosts.filter(({ id, program }) => !owners.includes(id) && program !== undefined);
    const isWhole = owning.every(({ program }) => program !== undefined && program !== holder);
    if (!isSettled || !isHeld || !isWhole || !others.some(({ program }) => program === holder)) continue;
    for (const host of owning) {
      host.crash();
      simulation.after(200, () => {
        if (host.program === undefined) host.restart();
      });
    }
    for (let ms = 200; ms < 4000; ms += 100)
      simulation.after(ms, () => {
        for (const { program } of others)
          if (program !== undefined && program !== holder) locate(program, key, hosts, truth);
      });
    return;
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
