import { withEffort } from '@bloomery/testkit/effort';
import { until } from '@bloomery/testkit/eventually';
import { flipBits } from '@bloomery/testkit/relay/tcp-relay';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, expect, test } from 'vitest';
import { HttpFleet } from './http-fleet.ts';

const fleets: HttpFleet[] = [];

afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.end();
});

const ROUNDS = withEffort(40, 10);

test('HttpTransport under cuts and damage gives whole messages in order, and tells every gap', async () => {
  const fleet = await HttpFleet.withNames('a', 'b');
  fleets.push(fleet);
  const relay = fleet.relay('a');
  const random = new Random(15);
  const a = fleet.start('a', []);
  const b = fleet.start('b', ['a'], { limits: { firstPauseMs: 1, longestPauseMs: 5 } });
  const messageOf = (number: number) => Buffer.alloc(50 + (number % 7) * 1000, `${number};`);
  /** The number of the last message, or null if some may be missing. */
  let last: number | null = null;
  let [opens, gaps, heard] = [0, 0, 0];
  const wrong: string[] = [];
  b.subscribe(fleet.address('a'), 'x', {
    open: () => {
      last = null;
      opens++;
    },
    closed: () => gaps++,
    message: (bytes) => {
      const number = Number.parseInt(Buffer.from(bytes).toString(), 10);
      if (Buffer.compare(bytes, messageOf(number)) !== 0) wrong.push(`damaged ${number}`);
      if (last !== null && number !== last + 1) wrong.push(`${number} after ${last}`);
      last = number;
      heard++;
    },
  });
  let published = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const isDamaged = round % 2 === 0;
    relay.setFaults(
      isDamaged ? { toClient: { damage: flipBits(() => random.below(2 ** 30) / 2 ** 30, 1e-4) } } : {},
    );
    await until('the link is open', () => opens > gaps);
    if (round % 5 === 4) relay.cut();
    const before = gaps;
    for (let i = 0; i < 50; i++) a.publish('x', messageOf(published++));
    await until('all have come, or the link was lost', () => last === published - 1 || gaps > before);
  }
  relay.setFaults();
  await until('the last message has come', () => {
    if (last !== published - 1) a.publish('x', messageOf(published++));
    return last === published - 1;
  });
  expect(wrong).toEqual([]);
  expect(gaps).toBeGreaterThan(0);
  expect(heard).toBeGreaterThan(ROUNDS);
});
