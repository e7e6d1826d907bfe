/**
 * The contract of every store of responses, in memory or on disk: one suite, run on each of them.
 *
 *     storeContract('MemoryStore', async ({ capacityBytes }) => ({ store: new MemoryStore(…) }));
 *
 * `open` gives an empty store each time. `openReaders`, if there is one, tells how many readers (or
 * files held for them) are open now: the suite wants 0 of them at the end of each test. A store
 * that admits keys on second sight only is opened so that it takes each of the bodies used here
 * (some of them come once), or says `keepsAll: false`: then a commit may give false for any body,
 * but never give false and be found, or true and be lost.
 *
 * Points that the interface leaves open and the suite decides:
 * - newest first is by `responseTime`, not by the order of commits;
 * - a response is recognised by what it says, not by which object it is: one that went through JSON
 *   is as good;
 * - a commit whose `bodyLength` is not the length that was written throws or rejects with a
 *   RangeError and stores nothing;
 * - after `abort`, `commit` gives false;
 * - when a commit gives false, what it would have replaced may be gone or not.
 */

import { afterEach, describe, expect, test } from 'vitest';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import type { ResponseStore } from '../../src/store/response-store.ts';
import { watchingContract } from './store-contract-watching.ts';
import { expectBodyError, writingContract } from './store-contract-writing.ts';
import { runRandomCommands } from './store-model.ts';
import {
  bodyBytes,
  expectBytes,
  keysOf,
  pause,
  readAll,
  storeBody,
  storedResponse,
} from './stored-responses.ts';

export interface StoreRequirements {
  readonly capacityBytes: number;
  readonly variantsPerKey: number;
}

export interface StoreUnderTest {
  readonly store: ResponseStore;
  openReaders?(): number;
  /** After the test, when the store is closed: removes its files. */
  dispose?(): Promise<void>;
}

export interface StoreContractOptions {
  /** False: a commit may be refused though there is room. Default true. */
  readonly keepsAll?: boolean;
  /** Random commands against the model; default 10,000. */
  readonly commands?: number;
  /** Bytes of the store in the test of eviction; bodies of 1/40 of it are put in. Default 1 MiB. */
  readonly smallCapacity?: number;
  /**
   * `statistics.responses` counts each response once; false: as often as it is stored. Default
   * true.
   */
  readonly countsOnce?: boolean;
}

/** Values that the parts of the suite share. */
export interface ContractContext {
  readonly key: string;
  readonly keepsAll: boolean;
  readonly countsOnce: boolean;
  readonly smallCapacity: number;
  /** A new store, closed after the test. */
  fresh(requirements?: StoreRequirements): Promise<ResponseStore>;
}

const ROOMY: StoreRequirements = { capacityBytes: 64 * 2 ** 20, variantsPerKey: 8 };
const KEY = 'http://example.org/';

export function storeContract(
  name: string,
  open: (requirements: StoreRequirements) => Promise<StoreUnderTest>,
  {
    keepsAll = true,
    commands = 10_000,
    smallCapacity = 2 ** 20,
    countsOnce = true,
  }: StoreContractOptions = {},
): void {
  describe(`${name}: contract of a store`, { timeout: 60_000 }, () => {
    let opened: StoreUnderTest[] = [];
    const context: ContractContext = { fresh, keepsAll, countsOnce, smallCapacity, key: KEY };

    async function fresh(requirements = ROOMY): Promise<ResponseStore> {
      const one = await open(requirements);
      opened.push(one);
      return one.store;
    }

    afterEach(async () => {
      const these = opened;
      opened = [];
      for (const { store, openReaders, dispose } of these) {
        // A file may be let go a moment after the reader.
        for (let i = 0; i < 200 && (openReaders?.() ?? 0) > 0; i++) await pause(5);
        const left = openReaders?.() ?? 0;
        await store.close();
        await dispose?.();
        expect(left, 'readers left open').toBe(0);
      }
    });

    describe('finding', () => {
      test('an empty store finds nothing', async () => {
        const store = await fresh();
        expect(await store.find(KEY)).toEqual([]);
        expect(await keysOf(store)).toEqual(new Set());
        expect(store.statistics.responses).toBe(0);
      });

      test.each([
        ['no bytes', 0, 1],
        ['one byte', 1, 1],
        ['one chunk', 10_000, 10_000],
        ['many chunks', 100_003, 997],
        ['a long body', 300_000, 65_536],
      ])('what is committed is found and read: %s', async (_, bodyLength, chunk) => {
        const store = await fresh();
        const { response, body, kept } = await storeBody(store, { key: KEY, bodyLength, time: 1, chunk });
        if (!keepsAll && !kept) return;
        expect(kept).toBe(true);
        const found = await store.find(KEY);
        expect(found).toEqual([response]);
        expectBytes(await readAll(store.read(found[0]!)), body);
        const whole = store.bodyInMemory(found[0]!);
        if (whole !== undefined) expectBytes(whole, body);
      });

      test('a part of a body is read from start to end', async () => {
        const store = await fresh();
        const { body, kept } = await storeBody(store, {
          key: KEY,
          bodyLength: 50_000,
          time: 1,
          chunk: 7_000,
        });
        if (!kept) return expect(keepsAll).toBe(false);
        const [found] = await store.find(KEY);
        for (const [start, end] of [
          [0, 1],
          [0, 50_000],
          [6_999, 7_001],
          [12_345, 43_210],
          [49_999, 50_000],
          [20, 20],
          [0, 0],
          [50_000, 50_000],
        ]) {
          expectBytes(
            await readAll(store.read(found!, start, end)),
            body.slice(start, end),
            `${start} to ${end}`,
          );
        }
        expectBytes(await readAll(store.read(found!, 40_000)), body.slice(40_000));
      });

      test('peek tells the same as find', async () => {
        const store = await fresh();
        expect(await store.peek(KEY)).toEqual([]);
        await storeBody(store, { key: KEY, bodyLength: 3, time: 1000 });
        expect(await store.peek(KEY)).toEqual(await store.find(KEY));
        await store.removeKey(KEY);
        expect(await store.peek(KEY)).toEqual([]);
      });

      test('before the commit nothing is found', async () => {
        const store = await fresh();
        const writer = store.create(KEY, 5);
        await writer.write(bodyBytes(5, 1));
        expect(await store.find(KEY)).toEqual([]);
        expect(await keysOf(store)).toEqual(new Set());
        await writer.commit(storedResponse({ key: KEY, bodyLength: 5, time: 1 }));
        if (keepsAll) expect(await store.find(KEY)).toHaveLength(1);
      });

      test('a response that went through JSON is as good as the one found', async () => {
        const store = await fresh();
        const { response, body, kept } = await storeBody(store, {
          key: KEY,
          bodyLength: 100,
          time: 1,
          varied: [
            ['accept', null],
            ['accept-language', 'de'],
          ],
        });
        if (!kept) return expect(keepsAll).toBe(false);
        const copy: StoredResponse = JSON.parse(JSON.stringify(response));
        expectBytes(await readAll(store.read(copy)), body);
        const renewed = { ...copy, responseTime: copy.responseTime + 5 };
        expect(await store.refresh(copy, renewed)).toBe(true);
        expect(await store.remove(JSON.parse(JSON.stringify(renewed)))).toBe(1);
        expect(await store.find(KEY)).toEqual([]);
      });

      test('what is asked for after it is gone is an error, not other bytes', async () => {
        const store = await fresh();
        const { kept } = await storeBody(store, { key: KEY, bodyLength: 10, time: 1 });
        if (!kept) return expect(keepsAll).toBe(false);
        const [old] = await store.find(KEY);
        await storeBody(store, { key: KEY, bodyLength: 10, time: 2 });
        expect(store.bodyInMemory(old!)).toBeUndefined();
        await expectBodyError(store.read(old!), 'gone');
        expect(await store.remove(old!)).toBe(0);
        expect(await store.refresh(old!, { ...old!, responseTime: old!.responseTime + 9 })).toBe(false);
      });
    });

    describe('variants', () => {
      test('the same variant is replaced, others stay; newest first', async () => {
        const store = await fresh();
        const languages = ['de', 'en', 'de', null, 'fr', 'en'];
        for (const [i, language] of languages.entries()) {
          await storeBody(store, {
            key: KEY,
            bodyLength: 10 + i,
            time: i,
            varied: [['accept-language', language]],
          });
        }
        if (!keepsAll) return;
        const found = await store.find(KEY);
        expect(found.map((response) => response.varied[0]![1])).toEqual(['en', 'fr', null, 'de']);
        expect(found.map((response) => response.bodyLength)).toEqual([15, 14, 13, 12]);
        for (const response of found) {
          expectBytes(
            await readAll(store.read(response)),
            bodyBytes(response.bodyLength, response.bodyLength - 10),
          );
        }
        if (countsOnce) expect(store.statistics.responses).toBe(4);
      });

      test('newest is by the time of the response, not of the commit', async () => {
        const store = await fresh();
        for (const time of [50, 10, 90, 30]) {
          await storeBody(store, { key: KEY, bodyLength: 5, time, varied: [['accept', String(time)]] });
        }
        if (!keepsAll) return;
        const found = await store.find(KEY);
        expect(found.map((response) => response.varied[0]![1])).toEqual(['90', '50', '30', '10']);
      });

      test('another set of varying fields is another variant', async () => {
        const store = await fresh();
        const variants: StoredResponse['varied'][] = [
          [],
          [['a', '']],
          [['a', null]],
          [['b', '']],
          [
            ['a', ''],
            ['b', ''],
          ],
        ];
        for (const [time, varied] of variants.entries()) {
          await storeBody(store, { key: KEY, bodyLength: 3, time, varied });
        }
        if (keepsAll)
          expect((await store.find(KEY)).map(({ varied }) => varied)).toEqual([...variants].reverse());
      });

      test('a key has a bounded number of them; the oldest go', async () => {
        const store = await fresh({ ...ROOMY, variantsPerKey: 4 });
        for (let time = 0; time < 12; time++) {
          await storeBody(store, {
            key: KEY,
            bodyLength: 20,
            time,
            varied: [['user-agent', `agent ${time}`]],
          });
        }
        const found = await store.find(KEY);
        expect(found.length).toBeLessThanOrEqual(4);
        if (!keepsAll) return;
        expect(found.map((response) => response.varied[0]![1])).toEqual(
          [11, 10, 9, 8].map((time) => `agent ${time}`),
        );
        for (const [i, response] of found.entries()) {
          expectBytes(await readAll(store.read(response)), bodyBytes(20, 11 - i));
        }
      });

      test('a list that was given out does not change afterwards', async () => {
        const store = await fresh();
        await storeBody(store, { key: KEY, bodyLength: 3, time: 1, varied: [['a', '1']] });
        const before = await store.find(KEY);
        const seen = [...before];
        await storeBody(store, { key: KEY, bodyLength: 3, time: 2, varied: [['a', '2']] });
        await store.removeKey(KEY);
        expect([...before]).toEqual(seen);
      });
    });

    writingContract(context);

    describe('changing', () => {
      test('a refresh keeps the body and gives it a new head', async () => {
        const store = await fresh();
        const { response, body, kept } = await storeBody(store, { key: KEY, bodyLength: 5000, time: 1 });
        await storeBody(store, { key: KEY, bodyLength: 5, time: 3, varied: [['a', 'b']] });
        if (!kept) return expect(keepsAll).toBe(false);
        const renewed: StoredResponse = {
          ...response,
          headers: [...response.headers, 'X-Note', 'validated'],
          requestTime: response.requestTime + 100,
          responseTime: response.responseTime + 100,
        };
        expect(await store.refresh(response, renewed)).toBe(true);
        const found = await store.find(KEY);
        expect(found[0]).toEqual(renewed);
        expect(found.filter((one) => one.varied.length === 0)).toHaveLength(1);
        expectBytes(await readAll(store.read(found[0]!)), body);
        expect(await store.refresh(response, { ...renewed, responseTime: renewed.responseTime + 1 })).toBe(
          false,
        );
      });

      test('a refresh that is of another variant now replaces that one', async () => {
        const store = await fresh();
        const first = await storeBody(store, { key: KEY, bodyLength: 50, time: 1, varied: [['a', '1']] });
        await storeBody(store, { key: KEY, bodyLength: 60, time: 2, varied: [['a', '2']] });
        if (!keepsAll) return;
        const renewed = {
          ...first.response,
          varied: [['a', '2']] as const,
          responseTime: first.response.responseTime + 9,
        };
        expect(await store.refresh(first.response, renewed)).toBe(true);
        expect(await store.find(KEY)).toEqual([renewed]);
        expectBytes(await readAll(store.read(renewed)), first.body);
      });

      test('remove takes one, removeKey takes all, and both say how many', async () => {
        const store = await fresh();
        for (let time = 0; time < 4; time++) {
          await storeBody(store, { key: KEY, bodyLength: 10, time, varied: [['a', String(time)]] });
        }
        await storeBody(store, { key: `${KEY}other`, bodyLength: 10, time: 9 });
        const found = await store.find(KEY);
        if (keepsAll) expect(found).toHaveLength(4);
        if (found.length === 0) return;
        expect(await store.remove(found[1] ?? found[0]!)).toBe(1);
        expect(await store.remove(found[1] ?? found[0]!)).toBe(0);
        expect(await store.find(KEY)).toEqual(found.filter((_, i) => i !== (found.length > 1 ? 1 : 0)));
        expect(await store.removeKey(KEY)).toBe(found.length - 1);
        expect(await store.removeKey(KEY)).toBe(0);
        expect(await store.find(KEY)).toEqual([]);
        if (keepsAll) expect(await store.find(`${KEY}other`)).toHaveLength(1);
      });
    });

    watchingContract(context);

    test(`${commands} random commands: the same as a naive model`, async () => {
      await runRandomCommands(await fresh(), { commands, seed: 1, keepsAll });
    });

    test('random commands under pressure: nothing is wrong, though much is gone', async () => {
      const store = await fresh({ capacityBytes: smallCapacity, variantsPerKey: 4 });
      await runRandomCommands(store, { commands: Math.ceil(commands / 4), seed: 2, keepsAll: false });
    });
  });
}
