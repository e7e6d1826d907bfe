import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { abortable } from './abortable.ts';

const reason = new Error('no longer wanted');
const never = new Promise<never>(() => {});

test('abortable gives the result of the work, with and without a signal', async () => {
  const { signal } = new AbortController();
  await expect(abortable(Promise.resolve(1), undefined)).resolves.toBe(1);
  await expect(abortable(Promise.resolve(2), signal)).resolves.toBe(2);
  await expect(abortable(Promise.reject(reason), signal)).rejects.toBe(reason);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('abortable stops waiting with the reason of the signal', async () => {
  const stop = new AbortController();
  const waiting = abortable(never, stop.signal);
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test('abortable does not wait if the signal is aborted, and takes no failure of the work for its own', async () => {
  await expect(abortable(Promise.resolve(1), AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(abortable(Promise.reject(new Error('late')), AbortSignal.abort(reason))).rejects.toBe(reason);
});
