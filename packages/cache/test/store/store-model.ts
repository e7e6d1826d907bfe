/**
 * Random commands on a store and on a naive model of it, compared at each step. The model is a map
 * of lists of responses with their bodies, without any bound but that of variants, which the keys
 * here never reach.
 *
 * With `keepsAll` the store must have exactly what the model has. Without, it may have lost any of
 * it (evicted, refused), and the model forgets what the store has lost; but what it has must be
 * right to the byte, and what it lost must not come back. In both cases the listeners' view must be
 * that of `keys()` whenever nothing is under way.
 */

import { Random } from '@bloomery/testkit/statistics';
import { expect } from 'vitest';
import { asOwn } from '../../src/policy/peer-copy.ts';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import { BodyError, type BodyWriter, type ResponseStore } from '../../src/store/response-store.ts';
import { bodyBytes, expectBytes, keysOf, readAll, storedResponse } from './stored-responses.ts';

export interface RandomCommands {
  readonly commands: number;
  readonly seed: number;
  readonly keepsAll: boolean;
  /** How many keys; default 40. */
  readonly keys?: number;
  /** The longest body; default 20,000. */
  readonly maxBody?: number;
}

interface Stored {
  readonly response: StoredResponse;
  readonly body: Uint8Array;
}

interface Writing {
  readonly writer: BodyWriter;
  readonly key: string;
  readonly body: Uint8Array;
  readonly time: number;
  followers: Promise<void>[];
}

export async function runRandomCommands(
  store: ResponseStore,
  { commands, seed, keepsAll, keys = 40, maxBody = 20_000 }: RandomCommands,
): Promise<void> {
  const random = new Random(seed);
  const model = new Map<string, Stored[]>();
  const watched = new Set<string>();
  /** Responses found under the keys for which no change was told since. */
  const known = new Map<string, string>();
  const untold: string[] = [];
  const stop = store.watch((key, change) => {
    known.delete(key);
    if (change === 'added' ? watched.has(key) : !watched.has(key)) untold.push(`${key} was ${change} twice`);
    if (change === 'added') watched.add(key);
    else if (change === 'removed') watched.delete(key);
  });
  let time = 0;
  let writing: Writing[] = [];

  const randomKey = () => `http://example.org/${random.below(keys)}`;
  // Short ones are common; now and then a long one.
  const randomLength = () => random.below(random.below(8) === 0 ? maxBody : Math.ceil(maxBody / 50));
  const variant = (): StoredResponse['varied'] => [['accept', random.pick(['a', 'b', null])]];
  const sameVariant = (a: StoredResponse, b: StoredResponse) =>
    JSON.stringify(a.varied) === JSON.stringify(b.varied);
  const set = (key: string, list: Stored[]) => {
    list.sort((a, b) => b.response.responseTime - a.response.responseTime);
    if (list.length === 0) model.delete(key);
    else model.set(key, list);
  };

  /** Finds, compares, and lets the model forget what the store may have lost. */
  async function compare(key: string): Promise<readonly StoredResponse[]> {
    const found = await store.find(key);
    const told = known.get(key);
    if (told !== undefined && told !== JSON.stringify(found)) untold.push(`${key} changed`);
    known.set(key, JSON.stringify(found));
    expect(untold).toEqual([]);
    const expected = model.get(key) ?? [];
    if (keepsAll) {
      expect(found).toEqual(expected.map(({ response }) => response));
      return found;
    }
    const left = expected.filter(({ response }) => found.some((one) => same(one, response)));
    expect(found.map(asOwn)).toEqual(left.map(({ response }) => asOwn(response)));
    set(key, left);
    return found;
  }

  async function readOne(key: string): Promise<void> {
    const found = await compare(key);
    if (found.length === 0) return;
    const response = random.pick(found);
    const { body } = model.get(key)!.find((one) => same(one.response, response))!;
    const start = random.below(2) === 0 ? 0 : random.below(body.length + 1);
    const end = random.below(2) === 0 ? body.length : start + random.below(body.length - start + 1);
    const inMemory = store.bodyInMemory(response);
    if (inMemory !== undefined) expectBytes(inMemory, body);
    const bytes = await readAll(store.read(response, start, end)).catch((error: unknown) => error);
    if (bytes instanceof BodyError && !keepsAll) expect(bytes.code).toBe('gone');
    else if (bytes instanceof Error) throw bytes;
    else expectBytes(bytes as Uint8Array, body.subarray(start, end));
  }

  function begin(): void {
    const key = randomKey();
    const body = bodyBytes(randomLength(), ++time);
    const writer = store.create(key, random.below(2) === 0 ? undefined : body.length);
    writing.push({ writer, key, body, time, followers: [] });
  }

  function follow(one: Writing): void {
    const start = random.below(one.body.length + 1);
    const end = random.below(2) === 0 ? undefined : start + random.below(one.body.length - start + 1);
    const expected = one.body.subarray(start, end);
    const follower = readAll(one.writer.read(start, end)).then(
      (bytes) => expectBytes(bytes, expected),
      (error: unknown) => {
        if (!(error instanceof BodyError) || error.code !== 'aborted') throw error;
      },
    );
    // Looked at when the body is finished; until then a failure is not yet unhandled.
    follower.catch(() => {});
    one.followers.push(follower);
  }

  async function writeSome(one: Writing): Promise<void> {
    const at = one.writer.length;
    await one.writer.write(one.body.slice(at, at + 1 + random.below(6_000)));
  }

  async function finish(one: Writing): Promise<void> {
    while (one.writer.length < one.body.length) await writeSome(one);
    const response = storedResponse({
      key: one.key,
      bodyLength: one.body.length,
      time: one.time,
      varied: variant(),
      // A store may drop copies sooner than others.
      copy: !keepsAll && random.below(3) === 0,
    });
    const kept = await one.writer.commit(response);
    const list = model.get(one.key) ?? [];
    if (keepsAll) expect(kept).toBe(true);
    if (kept) {
      set(one.key, [
        ...list.filter((other) => !sameVariant(other.response, response)),
        { response, body: one.body },
      ]);
    }
    await compare(one.key);
    await Promise.all(one.followers);
  }

  async function refreshOne(key: string): Promise<void> {
    const found = await compare(key);
    if (found.length === 0) return;
    const old = random.pick(found);
    time++;
    const { requestTime, responseTime } = storedResponse({ key, bodyLength: 0, time });
    const renewed: StoredResponse = {
      ...old,
      requestTime,
      responseTime,
      headers: ['X-Renewed', String(time)],
    };
    const done = await store.refresh(old, renewed);
    if (keepsAll) expect(done).toBe(true);
    if (done) {
      set(
        key,
        model.get(key)!.map((one) => (same(one.response, old) ? { ...one, response: renewed } : one)),
      );
    }
    await compare(key);
  }

  async function removeOne(key: string): Promise<void> {
    const found = await compare(key);
    if (found.length === 0) return;
    const victim = random.pick(found);
    const count = await store.remove(victim);
    if (keepsAll) expect(count).toBe(1);
    set(
      key,
      model.get(key)!.filter(({ response }) => !same(response, victim)),
    );
    await compare(key);
  }

  for (let i = 0; i < commands; i++) {
    const one = writing.length > 0 ? random.pick(writing) : undefined;
    const dice = random.below(100);
    if (one === undefined || (dice < 15 && writing.length < 8)) begin();
    else if (dice < 30) await writeSome(one);
    else if (dice < 38) follow(one);
    else if (dice < 55) {
      writing = writing.filter((other) => other !== one);
      await finish(one);
    } else if (dice < 57) {
      writing = writing.filter((other) => other !== one);
      one.writer.abort(new Error('aborted by dice'));
      await Promise.all(one.followers);
    } else if (dice < 80) await readOne(randomKey());
    else if (dice < 90) await refreshOne(randomKey());
    else if (dice < 95) await removeOne(randomKey());
    else if (dice < 97) {
      const key = randomKey();
      const count = await store.removeKey(key);
      if (keepsAll) expect(count).toBe(model.get(key)?.length ?? 0);
      model.delete(key);
      expect(await store.find(key)).toEqual([]);
    } else {
      const listed = await keysOf(store);
      if (keepsAll) expect(listed).toEqual(new Set(model.keys()));
      for (const key of listed) expect(model.has(key), `${key} came back`).toBe(true);
      expect(watched).toEqual(listed);
    }
  }
  for (const one of writing) await finish(one);
  for (const key of [...model.keys()]) await readOne(key);
  stop();
}

/** Ignores the mark of a copy, which goes when the copy is used. */
function same(a: StoredResponse, b: StoredResponse): boolean {
  return JSON.stringify(asOwn(a)) === JSON.stringify(asOwn(b));
}
