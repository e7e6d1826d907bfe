/**
 * The part of the contract of a store that is about bodies on their way in, and those who follow
 * them. See store-contract.ts.
 */

import { describe, expect, test } from 'vitest';
import { BodyError, type BodyReader } from '../../src/store/response-store.ts';
import type { ContractContext } from './store-contract.ts';
import { bodyBytes, expectBytes, pause, readAll, storeBody, storedResponse } from './stored-responses.ts';

export function writingContract({ fresh, keepsAll, key: KEY }: ContractContext): void {
  describe('writing', () => {
    test('followers read while it is written, each at its own pace, from their own place to their own end', async () => {
      const store = await fresh();
      const body = bodyBytes(200_000, 7);
      const writer = store.create(KEY, undefined);
      const followers: Promise<void>[] = [];
      const follow = (start: number | undefined, end: number | undefined, pace: number) => {
        const reader = writer.read(start, end);
        const follower = readSlowly(reader, pace).then((got) =>
          expectBytes(got, body.slice(start ?? 0, end), `from ${start} to ${end}`),
        );
        follower.catch(() => {});
        followers.push(follower);
      };
      follow(undefined, undefined, 0);
      follow(0, 100, 0);
      follow(150_000, undefined, 0);
      follow(199_999, 200_000, 1);
      for (let at = 0; at < body.length; at += 10_000) {
        await writer.write(body.slice(at, at + 10_000));
        expect(writer.length).toBe(at + 10_000);
        follow(undefined, undefined, at % 3);
        follow(at + 5_000, undefined, 0);
        follow(Math.max(0, at - 12_345), Math.min(body.length, at + 30_000), 1);
        follow(at, at, 0);
        if (at % 30_000 === 0) await pause(1);
      }
      const response = storedResponse({ key: KEY, bodyLength: body.length, time: 1 });
      const kept = await writer.commit(response);
      // Those who come after that read from the store; a body that is not kept is gone when its
      // followers are.
      if (kept) follow(3, undefined, 0);
      await Promise.all(followers);
      if (keepsAll || kept) expectBytes(await readAll(store.read(response)), body);
      else expect(await store.find(KEY)).toEqual([]);
    });

    test('a reader that waits gets the bytes when they come, and the end when it comes', async () => {
      const store = await fresh();
      const writer = store.create(KEY, undefined);
      const reader = writer.read();
      const first = reader.next();
      await pause(2);
      await writer.write(Uint8Array.of(1, 2, 3));
      expect([...(await first)!]).toEqual([1, 2, 3]);
      const second = reader.next();
      await pause(2);
      await writer.commit(storedResponse({ key: KEY, bodyLength: 3, time: 1 }));
      expect(await second).toBeNull();
      expect(await reader.next()).toBeNull();
      reader.close();
    });

    test('an abort reaches those who wait and those who come later, and nothing is kept', async () => {
      const store = await fresh();
      await storeBody(store, { key: KEY, bodyLength: 4, time: 1 });
      const before = await store.find(KEY);
      const writer = store.create(KEY, 100);
      await writer.write(bodyBytes(50, 2));
      const waiting = writer.read(50);
      const answer = expectBodyError(waiting, 'aborted');
      const behind = writer.read();
      writer.abort(new Error('the origin went away'));
      await answer;
      await expectBodyErrorInTheEnd(behind, 'aborted');
      await expectBodyErrorInTheEnd(writer.read(), 'aborted');
      writer.abort(new Error('again'));
      expect(await writer.commit(storedResponse({ key: KEY, bodyLength: 50, time: 2 }))).toBe(false);
      expect(await store.find(KEY)).toEqual(before);
    });

    test('a body may end without being kept: readers get all of it, and it is not found', async () => {
      const store = await fresh();
      const writer = store.create(KEY, undefined);
      const body = bodyBytes(500_000, 3);
      const early = writer.read();
      for (let at = 0; at < body.length; at += 50_000) await writer.write(body.slice(at, at + 50_000));
      const waiting = writer.read(499_999);
      await writer.endUnkept();
      expectBytes(await readAll(early), body);
      expectBytes(await readAll(waiting), body.slice(499_999));
      expect(await store.find(KEY)).toEqual([]);
      expect(store.statistics.responses).toBe(0);
      expect(await writer.commit(storedResponse({ key: KEY, bodyLength: 500_000, time: 1 }))).toBe(false);
    });

    test('a commit whose length is not what was written is refused', async () => {
      const store = await fresh();
      const writer = store.create(KEY, 10);
      await writer.write(bodyBytes(9, 1));
      const wrong = storedResponse({ key: KEY, bodyLength: 10, time: 1 });
      await expect((async () => writer.commit(wrong))()).rejects.toThrow(RangeError);
      expect(await store.find(KEY)).toEqual([]);
      writer.abort(new Error('over'));
    });

    test('several bodies of one key at once: the last commit of a variant stays', async () => {
      const store = await fresh();
      const writers = [1, 2, 3].map(() => store.create(KEY, 1000));
      for (let part = 0; part < 10; part++) {
        for (const [i, writer] of writers.entries()) {
          await writer.write(bodyBytes(1000, i).slice(part * 100, part * 100 + 100));
        }
      }
      for (const [i, writer] of writers.entries()) {
        await writer.commit(storedResponse({ key: KEY, bodyLength: 1000, time: i }));
      }
      const found = await store.find(KEY);
      if (!keepsAll && found.length === 0) return;
      expect(found).toHaveLength(1);
      const seed = found[0]!.responseTime - storedResponse({ key: '', bodyLength: 0, time: 0 }).responseTime;
      if (keepsAll) expect(seed).toBe(2);
      expectBytes(await readAll(store.read(found[0]!)), bodyBytes(1000, seed));
    });

    test('a reader of a stored body goes on when the response is replaced or removed', async () => {
      const store = await fresh();
      const { response, body, kept } = await storeBody(store, {
        key: KEY,
        bodyLength: 200_000,
        time: 1,
        chunk: 20_000,
      });
      if (!kept) return expect(keepsAll).toBe(false);
      const reader = store.read(response);
      const first = await reader.next();
      await storeBody(store, { key: KEY, bodyLength: 100, time: 2 });
      await store.removeKey(KEY);
      const rest = await readAll(reader).catch((error: unknown) => error);
      // It may be told that it is gone; it must not get other bytes, nor an early end.
      if (rest instanceof BodyError) expect(rest.code).toBe('gone');
      else expectBytes(Buffer.concat([first!, rest as Uint8Array]), body);
    });

    test('readers may be closed at any time, more than once', async () => {
      const store = await fresh();
      const writer = store.create(KEY, undefined);
      const early = writer.read();
      early.close();
      early.close();
      const waiting = writer.read();
      const answer = (async () => waiting.next())().catch((error: unknown) => error);
      waiting.close();
      await writer.write(bodyBytes(10, 1));
      // Whatever a closed reader answers, it answers.
      await answer;
      const half = writer.read();
      await half.next();
      half.close();
      await writer.commit(storedResponse({ key: KEY, bodyLength: 10, time: 1 }));
      const [found] = await store.find(KEY);
      if (found === undefined) return expect(keepsAll).toBe(false);
      store.read(found).close();
      const reader = store.read(found, 2, 5);
      await reader.next();
      reader.close();
      reader.close();
    });
  });
}

async function readSlowly(reader: BodyReader, pace: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for (let i = 0; ; i++) {
    const chunk = await reader.next();
    if (chunk === null) break;
    expect(chunk.length).toBeGreaterThan(0);
    chunks.push(chunk);
    if (pace > 0 && i % 4 === 0) await pause(pace);
  }
  reader.close();
  return new Uint8Array(Buffer.concat(chunks));
}

export async function expectBodyError(reader: BodyReader, code: BodyError['code']): Promise<void> {
  const error = await (async () => reader.next())().then(
    (bytes) => `${bytes?.length} bytes`,
    (reason: unknown) => reason,
  );
  reader.close();
  expect(error).toBeInstanceOf(BodyError);
  expect((error as BodyError).code).toBe(code);
}

/** An error, at the latest after the bytes that were written. */
async function expectBodyErrorInTheEnd(reader: BodyReader, code: BodyError['code']): Promise<void> {
  const error = await readAll(reader).then(
    (bytes) => `${bytes.length} bytes and an end`,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BodyError);
  expect((error as BodyError).code).toBe(code);
}
