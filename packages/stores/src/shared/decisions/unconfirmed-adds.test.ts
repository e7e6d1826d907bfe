import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type AddBatch, type LogPlace, UnconfirmedAdds } from './unconfirmed-adds.ts';

const PLACE: LogPlace = { lineage: 'l', epoch: 1, base: 1, server: 'a' };
const words = (n: number) => Int32Array.of(n, n);
const filled = (count: number, limits = { most: 1000, keepMs: 1000 }) => {
  const adds = new UnconfirmedAdds<number>(limits);
  for (let n = 0; n < count; n++) adds.push({ words: words(n), ticket: n });
  return adds;
};
const drain = (adds: UnconfirmedAdds<number>) => {
  const batches: AddBatch<number>[] = [];
  for (let next = adds.next(); next !== null; next = adds.next()) batches.push(next);
  return batches;
};

test('batches are sent once, in order, and again after a broken connection', () => {
  const adds = filled(3);
  expect(drain(adds).map(({ ticket }) => ticket)).toEqual([0, 1, 2]);
  expect(adds.next()).toBeNull();
  adds.disconnect();
  const again = drain(adds);
  expect(again.map(({ ticket }) => ticket)).toEqual([0, 1, 2]);
  for (const batch of again) expect(adds.acknowledge(batch, PLACE, 5)).toBe(true);
  expect(adds.pendingHashes).toBe(0);
  expect(adds.unconfirmedHashes).toBe(3);
});

test('acknowledged batches are sent again to another server, and their callers are told once', () => {
  const adds = filled(2);
  for (const batch of drain(adds)) adds.acknowledge(batch, PLACE, 5);
  adds.connect(PLACE);
  expect(adds.next()).toBeNull();
  adds.connect({ ...PLACE, server: 'b' });
  expect(adds.isResending).toBe(true);
  const again = drain(adds);
  expect(again.map(({ ticket }) => ticket)).toEqual([0, 1]);
  for (const batch of again) expect(adds.acknowledge(batch, { ...PLACE, server: 'b' }, 6)).toBe(false);
  expect(adds.isResending).toBe(false);
  expect(adds.resentHashes).toBe(2);
});

test('batches are sent again to a restored log, and not to a rebuilt one', () => {
  for (const [base, sent] of [
    [1, 2],
    [2, 0],
  ]) {
    const adds = filled(2);
    for (const batch of drain(adds)) adds.acknowledge(batch, PLACE, 5);
    adds.connect({ ...PLACE, epoch: 2, base });
    expect(drain(adds)).toHaveLength(sent);
  }
});

test('batches without an answer go to the next log, rebuilt or not', () => {
  const adds = filled(1);
  const [batch] = drain(adds);
  adds.refuse(batch);
  adds.connect({ ...PLACE, epoch: 2, base: 2 });
  expect([...adds.neverAcknowledged()]).toHaveLength(1);
  expect(drain(adds)).toHaveLength(1);
});

test('observe keeps a batch until every replica has it', () => {
  const adds = filled(1);
  for (const batch of drain(adds)) adds.acknowledge(batch, PLACE, 10);
  // This look was sent before the acknowledgement, so its offset says nothing about the batch.
  adds.observe({ offset: 50, replicaOffsets: [50, 50], sentMs: 10 });
  expect(adds.unconfirmedHashes).toBe(1);
  adds.observe({ offset: 80, replicaOffsets: [80, 60], sentMs: 11 });
  expect(adds.unconfirmedHashes).toBe(1);
  adds.observe({ offset: 90, replicaOffsets: [90, 79], sentMs: 12 });
  expect(adds.unconfirmedHashes).toBe(1);
  adds.observe({ offset: 90, replicaOffsets: [90, 80], sentMs: 13 });
  expect(adds.unconfirmedHashes).toBe(0);
});

test('observe keeps a batch for a time where there is no replica', () => {
  const adds = filled(1);
  for (const batch of drain(adds)) adds.acknowledge(batch, PLACE, 10);
  adds.observe({ offset: 50, replicaOffsets: [], sentMs: 1009 });
  expect(adds.unconfirmedHashes).toBe(1);
  adds.observe({ offset: 50, replicaOffsets: [], sentMs: 1010 });
  expect(adds.unconfirmedHashes).toBe(0);
});

test('acknowledged batches are bounded, pending ones are all kept', () => {
  const adds = filled(20, { most: 5, keepMs: 1000 });
  for (const batch of drain(adds).slice(0, 10)) adds.acknowledge(batch, PLACE, 10);
  expect(adds.unconfirmedHashes).toBe(5);
  expect(adds.pendingHashes).toBe(10);
  expect([...adds.unconfirmed()].map(([n]) => n).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 15 }, (_, i) => i + 5),
  );
});

/** Servers that replicate late and fail over at random, and one writer. */
function play(seed: number): { lost: number; failovers: number; lostAcknowledged: number } {
  const random = new Random(seed);
  const chance = (p: number) => random.bits() / 2 ** 32 < p;
  const adds = new UnconfirmedAdds<number>({ most: 10_000, keepMs: 1000 });
  let server = 0;
  let master: number[] = [];
  let replica: number[] = [];
  let clock = 0;
  let isConnected = false;
  let pushed = 0;
  let failovers = 0;
  let lostAcknowledged = 0;
  const acknowledged = new Set<number>();
  const place = () => ({ ...PLACE, server: `s${server}` });
  const underWay: AddBatch<number>[] = [];
  for (let step = 0; step < 600 || !isConnected || !adds.isIdle; step++) {
    clock++;
    const isOver = step >= 600;
    if (!isOver && chance(0.5)) adds.push({ words: words(pushed), ticket: pushed++ });
    if (!isConnected) {
      adds.connect(place());
      isConnected = true;
    }
    for (let next = adds.next(); next !== null; next = adds.next()) {
      master.push(next.ticket);
      underWay.push(next);
    }
    while (underWay.length > 0 && chance(0.7)) {
      const batch = underWay.shift() as AddBatch<number>;
      adds.acknowledge(batch, place(), clock);
      acknowledged.add(batch.ticket);
    }
    if (chance(0.3)) replica = master.slice(0, Math.max(replica.length, random.below(master.length + 1)));
    if (chance(0.2)) {
      // The number of entries stands for the offset of replication.
      adds.observe({ offset: master.length, replicaOffsets: [replica.length], sentMs: clock });
    }
    if (!isOver && chance(0.03)) {
      failovers++;
      lostAcknowledged += [...acknowledged].filter((n) => master.includes(n) && !replica.includes(n)).length;
      master = [...replica];
      server++;
      underWay.length = 0;
      adds.disconnect();
      isConnected = false;
    } else if (step < 600 && chance(0.03)) {
      underWay.length = 0;
      adds.disconnect();
      isConnected = false;
    }
  }
  const there = new Set(master);
  let lost = 0;
  for (let n = 0; n < pushed; n++) if (!there.has(n)) lost++;
  return { lost, failovers, lostAcknowledged };
}

test('no add is lost over seeded failovers, although servers lose acknowledged ones', () => {
  let failovers = 0;
  let lostAcknowledged = 0;
  for (let seed = 1; seed <= withEffort(100, 50); seed++) {
    const result = play(seed);
    expect(result.lost, `seed ${seed}`).toBe(0);
    failovers += result.failovers;
    lostAcknowledged += result.lostAcknowledged;
  }
  expect(failovers).toBeGreaterThan(500);
  expect(lostAcknowledged).toBeGreaterThan(500);
});
