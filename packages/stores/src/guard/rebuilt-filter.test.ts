import { until } from '@bloomery/testkit/eventually';
import { SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { RebuiltFilter } from './rebuilt-filter.ts';

const keys = (count: number, prefix = 'key') => Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

/** A source that stops before its end until it is let go. */
function gatedSource(rows: readonly string[]) {
  const gate = deferred();
  const reached = deferred();
  async function* source() {
    yield* rows;
    reached.resolve();
    await gate.promise;
  }
  return { source, open: gate.resolve, reached: reached.promise };
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('build reads the source, and the rate is that asked for', async () => {
  for (const falsePositiveRate of [0.01, 0.0001]) {
    const filter = await RebuiltFilter.build({ source: () => keys(150_000), falsePositiveRate });
    expect(keys(150_000).every((key) => filter.has(key))).toBe(true);
    const passed = keys(100_000, 'absent').filter((key) => filter.has(key)).length;
    const most = 100_000 * falsePositiveRate;
    expect(passed).toBeLessThan(most + 5 * Math.sqrt(most) + 1);
    expect(filter.status()).toMatchObject({ state: 'live', keys: 150_000, rebuilds: 1, failures: 0 });
    expect(filter.status().bytes).toBeLessThan(150_000 * 4);
    filter.close();
  }
});

test('everything is maybe until the first rebuild is done, and after closing', async () => {
  const { source, open } = gatedSource(['row']);
  const filter = RebuiltFilter.start({ source });
  expect([filter.state, filter.has('other')]).toEqual(['building', true]);
  open();
  await until('it is live', () => filter.state === 'live');
  expect([filter.has('row'), filter.has('other')]).toEqual([true, false]);
  filter.close();
  expect([filter.state, filter.has('other')]).toEqual(['closed', true]);
  await expect(filter.rebuild()).rejects.toThrow('Cannot rebuild a filter: it was closed');
});

test('adds during a rebuild are in the filter in use and in the next one', async () => {
  let gated = gatedSource(['old']);
  gated.open();
  const filter = await RebuiltFilter.build({ source: () => gated.source(), graceMs: 0 });
  gated = gatedSource(['new']);
  const rebuilt = filter.rebuild();
  await gated.reached;
  filter.add('meanwhile');
  expect(filter.has('meanwhile')).toBe(true);
  gated.open();
  await rebuilt;
  expect(['new', 'meanwhile', 'old'].map((key) => filter.has(key))).toEqual([true, true, false]);
});

test('adds of the time before a rebuild are kept, and older ones are forgotten', async () => {
  let now = 0;
  const filter = await RebuiltFilter.build({ source: () => [], graceMs: 1000, now: () => now });
  filter.add('early');
  now = 5000;
  filter.add('late');
  now = 5900;
  await filter.rebuild();
  expect([filter.has('early'), filter.has('late')]).toEqual([false, true]);
  now = 6100;
  await filter.rebuild();
  expect(filter.has('late')).toBe(false);
});

test('a rebuild that fails leaves the filter in use, and the schedule tries again', async () => {
  let isAway = false;
  const failures: unknown[] = [];
  const filter = await RebuiltFilter.build({
    async *source() {
      yield 'row';
      if (isAway) throw new Error('the store is away');
    },
    everyMs: 50,
    failed: (error) => failures.push(error),
  });
  isAway = true;
  await until('a rebuild failed', () => failures.length > 0);
  expect([filter.state, filter.has('row'), filter.has('other')]).toEqual(['live', true, false]);
  isAway = false;
  const { rebuilds } = filter.status();
  await until('it was rebuilt', () => filter.status().rebuilds > rebuilds);
  filter.close();
});

test('build rejects if the source fails at the start, and takes a signal', async () => {
  const away = RebuiltFilter.build({
    source() {
      throw new Error('wrong password');
    },
    failed: () => {},
  });
  await expect(away).rejects.toThrow('wrong password');
  const { source, reached } = gatedSource(['row']);
  const giveUp = new AbortController();
  const building = RebuiltFilter.build({ source }, { signal: giveUp.signal });
  await reached;
  giveUp.abort(new Error('given up'));
  await expect(building).rejects.toThrow('given up');
});

test('a filter that is too old is not used', async () => {
  let now = 0;
  const filter = await RebuiltFilter.build({ source: () => ['row'], maxAgeMs: 1000, now: () => now });
  now = 1000;
  expect([filter.state, filter.has('other')]).toEqual(['live', false]);
  now = 1001;
  expect([filter.state, filter.has('other')]).toEqual(['stale', true]);
  await filter.rebuild();
  expect([filter.state, filter.has('other')]).toEqual(['live', false]);
});

test('a filter with a schedule is rebuilt early when adds used up its room', async () => {
  const rows = keys(10);
  const filter = await RebuiltFilter.build({ source: () => rows, everyMs: 3_600_000 });
  for (const key of keys(500, 'more')) {
    rows.push(key);
    filter.add(key);
  }
  await until('it was rebuilt', () => filter.status().rebuilds > 1);
  await until('it has the rows', () => filter.status().keys === 510);
  expect(rows.every((key) => filter.has(key))).toBe(true);
  filter.close();
});

test('a call during a rebuild waits for a rebuild that began after it', async () => {
  let gated = gatedSource(['first']);
  const filter = RebuiltFilter.start({ source: () => gated.source() });
  await gated.reached;
  const { open } = gated;
  gated = gatedSource(['second']);
  gated.open();
  const after = [filter.rebuild(), filter.rebuild()];
  open();
  await Promise.all(after);
  expect([filter.has('first'), filter.has('second'), filter.status().rebuilds]).toEqual([false, true, 2]);
});

test('a secret key is used for all keys', async () => {
  const key = new SecretKey(new Uint8Array(16).fill(7));
  const filter = await RebuiltFilter.build({ source: () => keys(1000), key });
  filter.add('one more');
  expect([...keys(1000), 'one more'].every((row) => filter.has(row))).toBe(true);
});

test('wrong options are refused', async () => {
  const source = () => [];
  await expect(RebuiltFilter.build({} as never)).rejects.toThrow('expected { source }');
  await expect(RebuiltFilter.build({ source, falsePositiveRate: 0 })).rejects.toThrow(
    'between 0 and 1, got 0',
  );
  await expect(RebuiltFilter.build({ source, everyMs: 2 ** 31 })).rejects.toThrow('at most 2147483647');
  await expect(RebuiltFilter.build({ source, graceMs: -1 })).rejects.toThrow('graceMs of at least 0, got -1');
});

test('an add in the middle of the swap is not lost', async () => {
  let gated = gatedSource([]);
  gated.open();
  const filter = await RebuiltFilter.build({ source: () => gated.source(), graceMs: 0 });
  gated = gatedSource([]);
  const rebuilt = filter.rebuild();
  await gated.reached;
  gated.open();
  // There are no rows, so the swap comes some microtasks later, and an add comes in each of them.
  const added = Array.from({ length: 100 }, (_, at) => `meanwhile-${at}`);
  for (const key of added) {
    filter.add(key);
    await null;
  }
  await rebuilt;
  expect(filter.status().rebuilds).toBe(2);
  expect(added.filter((key) => !filter.has(key))).toEqual([]);
});

test('adds to a full filter do not start a rebuild while the source fails', async () => {
  let reads = 0;
  let isAway = false;
  const filter = await RebuiltFilter.build({
    async *source() {
      reads++;
      if (isAway) throw new Error('the store is away');
      yield 'row';
    },
    everyMs: 3_600_000,
    failed: () => {},
  });
  isAway = true;
  for (let at = 0; at < 300; at++) {
    filter.add(`add-${at}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(filter.status().failures).toBe(1);
  expect(reads).toBe(2);
  filter.close();
});

test('start tries its first build again', async () => {
  let reads = 0;
  const filter = RebuiltFilter.start({
    source() {
      if (++reads === 1) throw new Error('the store is away');
      return ['row'];
    },
    everyMs: 20,
    failed: () => {},
  });
  await until('it is live', () => filter.state === 'live');
  expect(filter.has('row')).toBe(true);
  filter.close();
});

test('a signal of one caller does not end the rebuild that others wait for', async () => {
  let gated = gatedSource(['first']);
  const filter = RebuiltFilter.start({ source: () => gated.source() });
  await gated.reached;
  const { open } = gated;
  gated = gatedSource(['second']);
  const giveUp = new AbortController();
  const [one, other] = [filter.rebuild({ signal: giveUp.signal }), filter.rebuild()];
  giveUp.abort(new Error('given up'));
  await expect(one).rejects.toThrow('given up');
  open();
  gated.open();
  await other;
  expect(filter.has('second')).toBe(true);
});

test('reading a source in memory gives the event loop its turns', async () => {
  let turns = 0;
  const ticking = setInterval(() => turns++, 1);
  const filter = await RebuiltFilter.build({ source: () => keys(400_000) });
  clearInterval(ticking);
  // Six turns for the reading and seven for the adding; a timer fires in most of them.
  expect(turns).toBeGreaterThan(3);
  filter.close();
});
