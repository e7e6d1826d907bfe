import { expect, test } from 'vitest';
import { BlockSet } from './block-set.ts';
import { DeliveryPlan, ORIGIN, PLAN_LIMITS } from './delivery-plan.ts';
import { blockLength, MOST_SIZE, shapeOf } from './file-shape.ts';

const SHAPE = shapeOf(64 * 65_536);
const SELF = '11'.repeat(16);

/** A generator with a fixed seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function planOf(limits = {}, has?: BlockSet): DeliveryPlan {
  return new DeliveryPlan({ shape: SHAPE, self: SELF, random: seeded(5), limits, has });
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

test('shapeOf gives about 512 blocks of 64 KiB to 1 MiB, and lengths that add up', () => {
  expect(shapeOf(0).blocks).toBe(0);
  expect(shapeOf(1)).toMatchObject({ blockBytes: 65_536, blocks: 1 });
  expect(shapeOf(50_000_000)).toMatchObject({ blockBytes: 131_072, blocks: 382 });
  expect(shapeOf(200_000_000)).toMatchObject({ blockBytes: 524_288, blocks: 382 });
  expect(shapeOf(MOST_SIZE)).toMatchObject({ blockBytes: 2 ** 20, blocks: 2 ** 18 });
  expect(() => shapeOf(MOST_SIZE + 1)).toThrow(RangeError);
  const shape = shapeOf(1_000_003);
  const sum = range(0, shape.blocks).reduce((bytes, block) => bytes + blockLength(shape, block), 0);
  expect(sum).toBe(1_000_003);
});

test('the rarest block that a free peer has comes first', () => {
  const plan = planOf();
  for (const [peer, blocks] of [
    ['a', range(0, 64)],
    ['b', range(0, 63)],
    ['c', range(0, 60)],
  ] as const) {
    plan.addPeer(peer);
    plan.peerHas(peer, blocks);
  }
  expect(plan.next(0)).toEqual({ source: 'a', block: 63 });
  expect([60, 61, 62]).toContain(plan.next(0)!.block);
});

test('a peer and the whole node have limits of requests under way', () => {
  const plan = planOf({ inFlight: 5, perPeer: 2 });
  for (const peer of ['a', 'b', 'c', 'd']) {
    plan.addPeer(peer);
    plan.peerHas(peer, range(0, 64));
  }
  const sources = range(0, 5).map(() => plan.next(0)!.source);
  for (const peer of ['a', 'b', 'c', 'd'])
    expect(sources.filter((source) => source === peer).length).toBeLessThanOrEqual(2);
  expect(plan.next(0)).toBeNull();
});

test('nodes that ask one origin own each block once, and a dead owner is replaced', () => {
  const names = range(0, 10).map((i) => `${i}${i}`.repeat(16).replace(/^(.)/, `${(7 * i) % 10}`));
  const owners = new Map<number, string[]>();
  const plans = names.map((self) => {
    const plan = new DeliveryPlan({
      shape: SHAPE,
      self,
      random: seeded(9),
      limits: { inFlight: 100, atOrigin: 100 },
    });
    plan.addOrigin();
    for (const node of names.filter((name) => name !== self)) {
      plan.addPeer(node);
      plan.describePeer(node, { node, isComplete: false, asksOrigin: true });
    }
    for (let next = plan.next(0); next !== null; next = plan.next(0))
      owners.set(next.block, [...(owners.get(next.block) ?? []), self]);
    return plan;
  });
  expect([...owners.values()].every((list) => list.length === 1)).toBe(true);
  expect(owners.size).toBe(64);
  for (const plan of plans) plan.removePeer(names[0]!);
  const moved = plans.slice(1).flatMap((plan) => {
    const blocks: number[] = [];
    for (let next = plan.next(0); next !== null; next = plan.next(0)) blocks.push(next.block);
    return blocks;
  });
  const lost = [...owners].filter(([, [owner]]) => owner === names[0]).map(([block]) => block);
  expect(moved.sort((a, b) => a - b)).toEqual(lost.sort((a, b) => a - b));
});

test('the origin is not asked for a block that a peer has or fetches', () => {
  const plan = planOf({ atOrigin: 100, inFlight: 100 });
  plan.addOrigin();
  plan.addPeer('a');
  plan.describePeer('a', { node: '22'.repeat(16), isComplete: false, asksOrigin: false });
  plan.peerHas('a', range(0, 10));
  plan.peerFetches('a', range(10, 20), 0);
  const asked: number[] = [];
  for (let next = plan.next(0); next !== null; next = plan.next(0))
    if (next.source === ORIGIN) asked.push(next.block);
  expect(asked.sort((a, b) => a - b)).toEqual(range(20, 64));
});

test('an idle node takes over one block at a time', () => {
  const plan = planOf();
  plan.addOrigin();
  plan.addPeer('a');
  plan.describePeer('a', { node: 'ff'.repeat(16), isComplete: false, asksOrigin: true });
  // This node takes its own blocks first.
  const own: number[] = [];
  for (let next = plan.next(0); next !== null; next = plan.next(0)) {
    own.push(next.block);
    plan.received(ORIGIN, next.block, 10);
  }
  expect(own.length).toBeGreaterThan(10);
  expect(plan.next(20 + PLAN_LIMITS.takeOverMs)?.source).toBe(ORIGIN);
  expect(plan.next(20 + PLAN_LIMITS.takeOverMs)).toBeNull();
});

test('an idle node waits 15 s at most for an owner that asks for nothing, however long blocks took', () => {
  const plan = planOf();
  plan.addOrigin();
  plan.addPeer('a');
  plan.describePeer('a', { node: 'ff'.repeat(16), isComplete: false, asksOrigin: true });
  let now = 0;
  for (let next = plan.next(now); next !== null; next = plan.next(now)) {
    now += 20_000;
    plan.received(ORIGIN, next.block, now);
  }
  expect(plan.missing).toBeGreaterThan(0);
  expect(plan.next(now + PLAN_LIMITS.longestTakeOverMs - 1)).toBeNull();
  expect(plan.next(now + PLAN_LIMITS.longestTakeOverMs)?.source).toBe(ORIGIN);
});

test('a peer that failed does not keep the origin from being asked', () => {
  const plan = planOf({ atOrigin: 4 });
  plan.addOrigin();
  plan.addPeer('liar');
  plan.describePeer('liar', { node: '22'.repeat(16), isComplete: true, asksOrigin: false });
  plan.peerHas('liar', range(0, 64));
  const first = plan.next(0)!;
  expect(first.source).toBe('liar');
  plan.failed('liar', first.block, 5000);
  expect(plan.next(5000)!.source).toBe(ORIGIN);
  // It may be tried again after its rest, and counts once it has delivered.
  expect(range(0, 8).map(() => plan.next(6001)?.source)).toContain('liar');
});

test('a busy peer rests without counting as failed, until it is busy too often', () => {
  const plan = planOf();
  plan.addPeer('a');
  plan.peerHas('a', range(0, 64));
  let now = 0;
  for (let i = 0; i < 7; i++) {
    const { block } = plan.next(now)!;
    plan.failed('a', block, now, 100);
    expect(plan.next(now + 99)).toBeNull();
    now += 100;
  }
  const { block } = plan.next(now)!;
  plan.failed('a', block, now, 100);
  expect(plan.next(now + 100)).toBeNull();
  expect(plan.next(now + PLAN_LIMITS.firstRestMs)?.source).toBe('a');
});

test('the last slow block is asked of a second peer, and the first that delivers ends the other', () => {
  const has = BlockSet.full(64);
  has.delete(7);
  const plan = planOf({}, has);
  for (const peer of ['a', 'b']) {
    plan.addPeer(peer);
    plan.peerHas(peer, [7]);
  }
  const first = plan.next(0)!;
  expect(plan.next(900)).toBeNull();
  const second = plan.next(1001)!;
  expect(new Set([first.source, second.source])).toEqual(new Set(['a', 'b']));
  expect(plan.received(second.source, 7, 1100)).toEqual([first.source]);
  expect([plan.isDone, plan.inFlight]).toEqual([true, 0]);
});

test('every block is fetched in any order of events', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seeded(seed);
    const plan = new DeliveryPlan({ shape: SHAPE, self: SELF, random });
    plan.addOrigin();
    const peers = ['a', 'b', 'c'];
    const underWay: { source: string; block: number }[] = [];
    for (let now = 0; !plan.isDone; now += 50) {
      expect(now).toBeLessThan(1_000_000);
      const peer = peers[Math.floor(random() * 3)]!;
      if (random() < 0.1) {
        plan.removePeer(peer);
        for (const { block } of underWay.filter(({ source }) => source === peer))
          plan.failed(peer, block, now);
      } else {
        plan.addPeer(peer);
        plan.peerHas(peer, [Math.floor(random() * 64)]);
      }
      for (let next = plan.next(now); next !== null; next = plan.next(now)) underWay.push(next);
      const [done] = underWay.splice(Math.floor(random() * underWay.length), 1);
      if (done === undefined) continue;
      if (random() < 0.3) plan.failed(done.source, done.block, now, random() < 0.5 ? 100 : null);
      else plan.received(done.source, done.block, now);
    }
    expect([plan.missing, plan.fetching]).toEqual([0, []]);
  }
});
