/**
 * Failovers that lose acknowledged adds: replication is stalled, the master acknowledges more, and
 * is killed. Five here; `BLOOMERY_EFFORT=20` runs a hundred.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { eventually, until } from '@bloomery/testkit/eventually';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { expect, test } from 'vitest';
import type { SharedFilter } from '../../src/shared/index.ts';
import { CLIENTS, missing, openMember } from './members.ts';
import { RedisPair } from './redis-pair.ts';

const FAILOVERS = withEffort(5, 2);
const MAX_AGE_MS = 3000;
/** Pause between two checks of all adds, so that the members in this process get on. */
const EVERY_MS = 50;

const urlOf = ({ port }: { readonly port: number }) => ({ url: `redis://127.0.0.1:${port}` });

interface Add {
  readonly key: string;
  readonly id: string;
  readonly ackedMs: number;
}

/** Adds keys one after the other until it is stopped. */
class Adder {
  readonly acked: Add[] = [];
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(filter: SharedFilter, prefix: string) {
    this.#done = this.#run(filter, prefix);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(filter: SharedFilter, prefix: string): Promise<void> {
    for (let i = 0; !this.#isStopped; i++) {
      const key = `${prefix}-${i}`;
      const id = await filter.add(key).catch(() => null);
      if (id === null) return;
      this.acked.push({ key, id, ackedMs: performance.now() });
    }
  }
}

/** Newest adds, and older ones, in one check. */
const MOST_CHECKED = 500;

/**
 * The newest adds and some of the older ones. A check of all would take longer than `MAX_AGE_MS`
 * after many failovers, and the members in this process would never get on. Every round asks for
 * all of them at its end.
 */
function someOf(acked: readonly Add[]): Add[] {
  const older = acked.length - MOST_CHECKED;
  const step = Math.max(1, Math.ceil(older / MOST_CHECKED));
  return acked.filter((_, i) => i >= older || i % step === 0);
}

/** Adds that a member calls certainly absent although it must not. */
function wrong(member: SharedFilter, acked: readonly Add[]): string[] {
  const nowMs = performance.now();
  return acked
    .filter(({ key, id, ackedMs }) => {
      if (!member.has(key, { after: id })) return true;
      return ackedMs < nowMs - MAX_AGE_MS && !member.has(key);
    })
    .map(({ key, id }) => `${key} ${id} ${member.state}`);
}

test(`no add is lost in ${FAILOVERS} failovers, and no member says "certainly not" too early`, {
  timeout: 60_000 + 30_000 * FAILOVERS,
}, async () => {
  await using pair = await RedisPair.start();
  // The links of the two members can be stalled and cut, one by one.
  await using writerLink = await TcpRelay.start({ target: pair.port });
  await using readerLink = await TcpRelay.start({ target: pair.port });
  const options = { capacity: 20_000, maxAgeMs: MAX_AGE_MS };
  await using writer = await openMember(urlOf(writerLink), { ...options, maxAgeMs: 120_000 });
  await using reader = await openMember(urlOf(readerLink), { ...options, client: 'redis' });
  await Promise.all([writer.ready(), reader.ready()]);
  const adder = new Adder(writer, 'k');
  let lostOnServer = 0;
  for (let round = 0; round < FAILOVERS; round++) {
    const before = adder.acked.length;
    await until('adds before the stall', () => adder.acked.length > before + 20);
    // In every other round the reader does not hear of the adds that get lost: only the writer
    // knows them.
    if (round % 2 === 0) readerLink.setFaults({ toClient: { stallAfter: 0 } });
    pair.stall();
    const stalled = adder.acked.length;
    await until('adds that the replica lacks', () => adder.acked.length > stalled + 20);
    const atKill = adder.acked.length;
    writerLink.setFaults({ refuse: true });
    writerLink.cut();
    await pair.failOver();
    lostOnServer += atKill - stalled;
    readerLink.setFaults();
    readerLink.cut();
    // A process that starts now knows nothing of the failover but what the server tells. The writer
    // is still away, so nothing may be called certainly absent.
    const lateMember = await openMember(pair, { ...options, client: CLIENTS[round % 2] ?? 'redis' });
    const members = [reader, lateMember];
    const check = (when: string) => {
      const some = someOf(adder.acked);
      for (const member of members) expect(wrong(member, some), `round ${round}, ${when}`).toEqual([]);
    };
    const sinceMs = performance.now();
    const isEnough = () => {
      check('without the writer');
      return performance.now() - sinceMs > 500;
    };
    await eventually(isEnough, 60_000, 'a while without the writer', EVERY_MS);
    writerLink.setFaults();
    const areLive = () => {
      check('with the writer');
      return [writer, ...members].every(({ state }) => state === 'live');
    };
    await eventually(areLive, 100_000, 'all members live again', EVERY_MS);
    const known = adder.acked.map(({ key }) => key);
    await lateMember.waitFor(adder.acked.at(-1)?.id as string);
    expect(missing(lateMember, known), `round ${round}`).toBe(0);
    await lateMember.close();
  }
  await adder.stop();
  // The failovers did lose acknowledged adds, and the writer sent them again.
  expect(lostOnServer).toBeGreaterThan(20);
  expect(writer.stats().resentAdds).toBeGreaterThan(20);
  await using last = await openMember(pair, { ...options, maxAgeMs: 120_000 });
  await last.ready();
  expect(
    missing(
      last,
      adder.acked.map(({ key }) => key),
    ),
  ).toBe(0);
  expect(last.has('never added')).toBe(false);
});

test("durability 'wait' acknowledges when the replica has the add, and not before", {
  timeout: 120_000,
}, async () => {
  await using pair = await RedisPair.start();
  const writer = await openMember(pair, { durability: 'wait', capacity: 20_000 });
  await writer.ready();
  const sure = await writer.addMany(Array.from({ length: 3000 }, (_, i) => `sure${i}`));
  expect(sure).toMatch(/-\d+$/);
  pair.stall();
  let isDone = false;
  const late = writer.add('late').then(() => {
    isDone = true;
  });
  // The master has it, and this process as well; the replica does not.
  await until('the add on the master', async () => (await pair.lag()) > 0 && writer.has('late'));
  expect(isDone).toBe(false);
  pair.goOn();
  await late;
  expect(await pair.lag()).toBeLessThan(10_000);
  // What was acknowledged survives, although the writer is gone as well.
  pair.stall();
  void writer.add('lost').catch(() => {});
  await until('an add that the replica lacks', async () => (await pair.lag()) > 0);
  const closed = writer.close({ timeoutMs: 1 });
  await pair.failOver();
  await closed;
  await using reader = await openMember(pair, { timing: { memberMs: 100 }, capacity: 20_000 });
  await reader.ready();
  expect(missing(reader, ['late', ...Array.from({ length: 3000 }, (_, i) => `sure${i}`)])).toBe(0);
});
