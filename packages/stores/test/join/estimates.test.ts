import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { csv, type JoinWay, postgres, type SemiJoinOptions, semiJoin } from '../../src/join/index.ts';
import { collect, type JoinServers, START_MS, startJoinServers } from './join-servers.ts';

// Plans against what then happens: matches from samples of blocks and of skewed keys, and bytes.

let servers: JoinServers;
beforeAll(async () => {
  servers = await startJoinServers();
}, START_MS);
afterAll(() => servers?.close());

const nearKeys = (keys: readonly string[]) =>
  csv(async function* () {
    yield Buffer.from(`k\n${keys.join('\n')}\n`);
  });
const join = (table: string, keys: readonly string[], more: Partial<SemiJoinOptions> = {}) =>
  semiJoin({
    near: nearKeys(keys),
    far: postgres({ client: servers.far, table }),
    on: ['k'],
    columns: ['k'],
    ...more,
  });

test('a large table is planned by a sample of its blocks, and counted whole for a precise plan', async () => {
  // Four rows in a block: 9,000 blocks, of which 2,000 are sampled. Keys lie in order in `sorted`,
  // so that all matches are in a few blocks, and anywhere in `mixed`.
  await servers.far.query(
    `create unlogged table sorted as select 'key ' || i k, repeat(md5(i::text), 60) filler from generate_series(1, 36000) i;
     create unlogged table mixed as select * from sorted order by md5(k);
     alter table sorted alter filler set storage plain; analyze sorted; analyze mixed`,
  );
  const keys = Array.from({ length: 3000 }, (_, i) => `key ${i + 34_001}`);
  for (const table of ['sorted', 'mixed']) {
    const { plan } = await join(table, keys);
    expect(plan!.farRows, table).not.toBe(36_000);
    expect(plan!.farRows).toBeGreaterThan(33_000);
    expect(plan!.farRows).toBeLessThan(39_000);
    expectNormal(plan!.matches.value, 2000, plan!.matches.standardError, `matches of ${table}`);
    expect(plan!.matches.standardError).toBeLessThan(700);
    const exact = await join(table, keys, { precision: 0.02 });
    expect(exact.plan!.farRows).toBe(36_000);
    expectNormal(exact.plan!.matches.value, 2000, exact.plan!.matches.standardError, `precise, ${table}`);
    expect(exact.plan!.matches.standardError).toBeLessThan(plan!.matches.standardError);
    expect((await collect((await join(table, keys)).rows())).length).toBe(2000);
  }
});

test('a few keys with most of the rows make the interval wider, as they should', async () => {
  // A tenth of the rows each for five keys, and 5,000 keys for the rest. None of the near keys
  // matches, so all rows that pass do so in vain, and a common key passes with all its rows.
  await servers.far.query(
    `create table skewed as select case when i % 10 < 5 then 'common ' || i % 10 else 'rare ' || i % 5000 end k
       from generate_series(1, 50000) i;
     analyze skewed`,
  );
  const random = new Random(9);
  let beyond = 0;
  let squares = 0;
  const ROUNDS = 40;
  for (let round = 0; round < ROUNDS; round++) {
    const keys = Array.from({ length: 500 }, () => `other ${random.below(1e9)}`);
    const { plan } = await join('skewed', keys);
    const { value, standardError } = plan!.matches;
    if (Math.abs(value) > 5 * standardError) beyond++;
    squares += (value / standardError) ** 2;
  }
  expect(beyond).toBe(0);
  // Estimates below 0 are cut off there, so the mean of the squares lies below 1, and above 0.1.
  expect(squares / ROUNDS).toBeLessThan(3);
  expect(squares / ROUNDS).toBeGreaterThan(0.1);
});

test('the bytes of every way are those of the plan, also with short keys', async () => {
  await servers.far.query(
    `create table numbers as select i::int8 k from generate_series(1, 30000) i; analyze numbers;
     create table texts as select 'a "key" of the ''far'' side, \\' || i k from generate_series(1, 30000) i; analyze texts`,
  );
  const cases: [table: string, keys: string[]][] = [
    ['numbers', Array.from({ length: 3000 }, (_, i) => String(3 * i + 27_001))],
    ['texts', Array.from({ length: 3000 }, (_, i) => `"a ""key"" of the 'far' side, \\${3 * i + 27_001}"`)],
  ];
  for (const [table, keys] of cases) {
    for (const way of ['keys', 'filter', 'all'] as JoinWay[]) {
      const joined = await join(table, keys, { way, precision: 0.01 });
      expect((await collect(joined.rows())).length).toBe(1000);
      const { bytesSent, bytesReceived } = joined.report();
      const planned = joined.plan!.bytes[way];
      expect(Math.abs((bytesSent + bytesReceived) / planned - 1), `${table} by ${way}`).toBeLessThan(0.05);
    }
  }
});
