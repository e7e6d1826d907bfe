import { expect, test } from 'vitest';
import { type AbortSignalLike, untilAborted } from './abort.ts';

const reason = new Error('no longer wanted');

/** The platform's class: the library compiles without the types of any platform. */
const { AbortController } = globalThis as typeof globalThis & {
  AbortController: new () => { readonly signal: AbortSignalLike; abort(reason: unknown): void };
};

/** Counts from 1, and notes what its reader does. `stuck` is a number that never comes. */
function counter(stuck = Number.POSITIVE_INFINITY) {
  const notes: string[] = [];
  let at = 0;
  const items: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        at++;
        return at >= stuck ? new Promise(() => {}) : Promise.resolve({ done: at > 3, value: at });
      },
      return: async () => {
        notes.push(`closed at ${at}`);
        if (stuck === at) await new Promise(() => {});
        for (let turn = 0; turn < 20; turn++) await undefined;
        notes.push('let go');
        return { done: true, value: undefined };
      },
    }),
  };
  return { items, notes };
}

async function read(items: AsyncIterable<number>, visit: (item: number) => void = () => {}) {
  const seen: number[] = [];
  for await (const item of items) {
    seen.push(item);
    visit(item);
  }
  return seen;
}

test('untilAborted yields all items of both kinds of sources', async () => {
  const { signal } = new AbortController();
  const { items, notes } = counter();
  expect(await read(untilAborted(items, signal))).toEqual([1, 2, 3]);
  expect(await read(untilAborted([4, 5], signal))).toEqual([4, 5]);
  expect(notes).toEqual([]);
});

test('untilAborted does not begin if the signal is aborted', async () => {
  const stop = new AbortController();
  stop.abort(reason);
  const { items, notes } = counter();
  await expect(read(untilAborted(items, stop.signal))).rejects.toBe(reason);
  expect(notes).toEqual([]);
});

test('untilAborted ends between two items and closes the source', async () => {
  const stop = new AbortController();
  const { items, notes } = counter();
  await expect(read(untilAborted(items, stop.signal), () => stop.abort(reason))).rejects.toBe(reason);
  expect(notes[0]).toBe('closed at 1');
});

test('untilAborted ends although the next item never comes, and does not wait for the source', async () => {
  const stop = new AbortController();
  const { items, notes } = counter(2);
  const reading = read(untilAborted(items, stop.signal), () =>
    Promise.resolve().then(() => stop.abort(reason)),
  );
  await expect(reading).rejects.toBe(reason);
  expect(notes).toHaveLength(1);
});

test('untilAborted closes the source when its reader stops, and passes on failures of the source', async () => {
  const { signal } = new AbortController();
  const { items, notes } = counter();
  for await (const _item of untilAborted(items, signal)) break;
  expect(notes).toEqual(['closed at 1', 'let go']);
  const failing = (function* () {
    yield 1;
    throw reason;
  })();
  await expect(read(untilAborted(failing, signal))).rejects.toBe(reason);
});
