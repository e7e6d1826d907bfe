import type { Service } from '@bloomery/transport';
import { SetSubscriber } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { hashOf, KEY_ID, SCHEME, SummaryLab } from '../../test/peers/summary-lab.ts';
import { OwnSummary, type OwnSummaryOptions } from './own-summary.ts';
import { SUMMARY_TOPIC } from './summary-follower.ts';

const HOUR = 3_600_000;

/** The summary of node `a`, and node `b` that follows it. */
async function start(options: Partial<OwnSummaryOptions> = {}, lab = new SummaryLab()) {
  const own = new OwnSummary({
    transport: lab.a,
    clock: lab.clock,
    work: lab.work,
    keyId: KEY_ID,
    scheme: SCHEME,
    neighbours: 1,
    bandwidth: 1e6,
    event: lab.event,
    ...options,
  });
  const link = lab.follow();
  await lab.clock.advance(100);
  const keep = (key: string, forMs = HOUR) => own.keep(hashOf(key), lab.clock.now() + forMs);
  return { lab, own, link, keep };
}

test('OwnSummary publishes keys that come and go', async () => {
  const { lab, own, keep } = await start();
  keep('x');
  keep('y');
  await lab.clock.advance(500);
  expect([lab.finds('x'), lab.finds('y'), lab.finds('z')]).toEqual([true, true, false]);
  expect([own.objects, own.updates]).toEqual([2, 1]);
  own.drop(hashOf('x'));
  await lab.clock.advance(2000);
  expect([lab.finds('x'), lab.finds('y')]).toEqual([false, true]);
  expect(own.updates).toBe(2);
  expect(lab.events).toEqual([]);
});

test('OwnSummary publishes many changes in messages of one datagram each, if there are datagrams', async () => {
  const lab = new SummaryLab();
  const sizes: number[] = [];
  const transport = {
    publish: (topic: string, message: Uint8Array) => {
      sizes.push(message.length);
      lab.a.publish(topic, message);
    },
    serve: lab.a.serve.bind(lab.a),
    datagramBytes: () => 400,
  };
  const { own, link, keep } = await start({ transport }, lab);
  const keys = Array.from({ length: 1000 }, (_, i) => `key ${i}`);
  for (const key of keys) keep(key);
  await lab.clock.advance(400);
  expect(keys.every((key) => lab.finds(key))).toBe(true);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(400);
  expect(sizes.length).toBeGreaterThan(3);
  expect([own.updates, link.generationOf(KEY_ID)]).toEqual([sizes.length, own.version]);
  for (const key of keys) own.drop(hashOf(key));
  await lab.clock.advance(2000);
  expect(keys.some((key) => lab.finds(key))).toBe(false);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(400);
});

test('OwnSummary answers a neighbour that missed hundreds of updates with what it missed', async () => {
  const lab = new SummaryLab();
  let answer: Service = () => new Uint8Array(0);
  const transport = {
    publish: () => {},
    serve: (_topic: string, service: Service) => {
      answer = service;
      return () => {};
    },
  };
  const { own, keep } = await start({ transport }, lab);
  for (let i = 0; i < 20_000; i++) keep(`before ${i}`);
  await lab.clock.advance(2000);
  let away = new SetSubscriber({ publisherId: KEY_ID, maxPositions: 1e6 });
  const ask = async () => {
    const answered = Promise.resolve(answer(away.request(), 'b'));
    await lab.clock.advance(100);
    return answered;
  };
  const full = await ask();
  away.receive(full);
  for (let i = 0; i < 1000; i++) {
    keep(`after ${i}`);
    await lab.clock.advance(300);
  }
  expect(own.updates).toBeGreaterThan(900);
  const missed = await ask();
  away.receive(missed);
  const held = { size: away.size, status: away.status };
  away = new SetSubscriber({ publisherId: KEY_ID, maxPositions: 1e6 });
  away.receive(await ask());
  expect(held).toEqual({ size: away.size, status: 'current' });
  expect(missed.length).toBeLessThan(full.length / 8);
});

test('OwnSummary tells of each key that comes and goes, once', async () => {
  const told: [number, boolean][] = [];
  const held: OwnSummaryOptions['held'] = ({ keyId, low }, isHeld) => {
    expect(keyId).toBe(KEY_ID);
    told.push([low, isHeld]);
  };
  const { lab, own, keep } = await start({ held });
  const [x, y] = [hashOf('x').low, hashOf('y').low];
  keep('x');
  keep('x');
  keep('y', 10_000);
  own.drop(hashOf('x'));
  own.drop(hashOf('x'));
  await lab.clock.advance(10_000);
  expect(told).toEqual([
    [x, true],
    [y, true],
    [x, false],
    [y, false],
  ]);
  expect(own.updates).toBeGreaterThan(0);
});

test('OwnSummary lets a key go before it is stale, without an event', async () => {
  const { lab, own, keep } = await start();
  keep('x', 10_000);
  await lab.clock.advance(5000);
  expect(lab.finds('x')).toBe(true);
  await lab.clock.advance(5000);
  expect([own.objects, lab.finds('x')]).toEqual([0, false]);
});

test('OwnSummary beats, so that a neighbour that missed a message catches up', async () => {
  const { lab, own, link, keep } = await start();
  lab.network.setConditions({ loss: 1 }, 'sim:a', 'sim:b');
  keep('x');
  await lab.clock.advance(1000);
  expect([own.updates, lab.finds('x')]).toEqual([1, false]);
  lab.network.setConditions({}, 'sim:a', 'sim:b');
  await lab.clock.advance(5000);
  expect(lab.finds('x')).toBe(true);
  expect(link.generationOf(KEY_ID)).toEqual(own.version);
});

test('OwnSummary answers a neighbour that comes later, and one that missed many changes', async () => {
  const { lab, own, link, keep } = await start();
  keep('early');
  await lab.clock.advance(500);
  lab.network.partition('sim:a', 'sim:b');
  for (let i = 0; i < 20; i++) {
    keep(`key ${i}`);
    await lab.clock.advance(1000);
  }
  expect(lab.finds('key 3')).toBe(false);
  lab.network.heal('sim:a', 'sim:b');
  await lab.clock.advance(60_000);
  for (let i = 0; i < 20; i++) expect(lab.finds(`key ${i}`)).toBe(true);
  expect(lab.finds('early')).toBe(true);
  expect(link.generationOf(KEY_ID)).toEqual(own.version);
});

test('OwnSummary grows into a wider universe, and loses nothing that comes meanwhile', async () => {
  const { lab, own, link, keep } = await start({ neighbours: 64 });
  keep('first');
  await lab.clock.advance(1000);
  const { epoch } = own.version;
  const universe = link.followers[0].positions?.universe;
  for (let i = 0; i < 3000; i++) {
    keep(`key ${i}`);
    if (i % 100 === 0) await lab.clock.advance(3);
  }
  await lab.clock.advance(5000);
  expect(own.version.epoch).toBeGreaterThan(epoch);
  expect(link.followers[0].positions!.universe).toBeGreaterThan(universe!);
  expect(link.generationOf(KEY_ID)).toEqual(own.version);
  expect([own.objects, link.followers[0].positions!.size]).toEqual([3001, 3001]);
  for (let i = 0; i < 3000; i++) expect(lab.finds(`key ${i}`)).toBe(true);
});

test('OwnSummary drops a key in time that is told again with an earlier end', async () => {
  const { lab, keep } = await start();
  keep('x');
  await lab.clock.advance(20_000);
  keep('x', 3000);
  await lab.clock.advance(500);
  expect(lab.finds('x')).toBe(true);
  // It leaves 2 s before its end, and neighbours hear that within 2 s.
  await lab.clock.advance(2500);
  expect(lab.finds('x')).toBe(false);
});

test('OwnSummary sends two heartbeats after an update, and one every 30 s without updates', async () => {
  const { lab, keep } = await start();
  const heardAt: number[] = [];
  const began = lab.clock.monotonic();
  lab.b.subscribe(lab.a.address, SUMMARY_TOPIC, {
    message: () => void heardAt.push(Math.round((lab.clock.monotonic() - began) / 1000)),
    open: () => {},
    closed: () => {},
  });
  await lab.clock.advance(70_000);
  expect(heardAt).toEqual([5, 10, 30, 60]);
  keep('x');
  await lab.clock.advance(40_000);
  expect(heardAt.slice(4)).toEqual([70, 75, 80, 100]);
});

test('OwnSummary is silent after it was closed', async () => {
  const { lab, own, link, keep } = await start();
  keep('x');
  await lab.clock.advance(500);
  keep('y');
  own.close();
  const bytes = link.summaryBytes;
  keep('z');
  await lab.clock.advance(30_000);
  expect(link.summaryBytes).toBe(bytes);
  expect([lab.finds('x'), lab.finds('y')]).toEqual([true, false]);
  const request = lab.b.request('sim:a', SUMMARY_TOPIC, new Uint8Array(), { timeoutMs: 1000 });
  const refused = expect(request).rejects.toThrow();
  await lab.clock.advance(2000);
  await refused;
});

test('OwnSummary follows the limits it is given: changes wait for a share, however old they are', async () => {
  const limits = { changedShare: 0.1, additionAgeMs: HOUR, deletionAgeMs: HOUR, perSecond: 1000 };
  const { lab, own, keep } = await start({ limits });
  for (let i = 0; i < 100; i++) keep(`first ${i}`);
  await lab.clock.advance(100);
  const { updates } = own;
  for (let i = 0; i < 9; i++) keep(`second ${i}`);
  await lab.clock.advance(60_000);
  expect([own.updates, lab.finds('second 0')]).toEqual([updates, false]);
  for (let i = 0; i < 3; i++) keep(`third ${i}`);
  await lab.clock.advance(100);
  expect([own.updates, lab.finds('second 0')]).toEqual([updates + 1, true]);
});

test('OwnSummary takes a universe that fits the false candidates it is given', async () => {
  const universes = await Promise.all(
    [undefined, 0.0002].map(async (falseCandidates) => {
      const { lab, link, keep } = await start({ neighbours: 64, falseCandidates });
      for (let i = 0; i < 1000; i++) keep(`key ${i}`);
      await lab.clock.advance(2000);
      return link.followers[0].positions!.universe;
    }),
  );
  // 1,000 keys, 64 neighbours: 1.25 · 1000 · 64 / 0.02 and / 0.0002, rounded up to powers of two.
  expect(universes).toEqual([2 ** 22, 2 ** 29]);
});
