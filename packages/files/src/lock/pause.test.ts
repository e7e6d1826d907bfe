import { expect, test } from 'vitest';
import { pause } from './pause.ts';

const reason = new Error('no longer wanted');

test('pause ends with the reason of its signal', async () => {
  const stop = new AbortController();
  const waiting = pause(600_000, stop.signal);
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(pause(0, stop.signal)).rejects.toBe(reason);
});

test('pause ends by itself, with and without a signal', async () => {
  await expect(pause(0, undefined)).resolves.toBeUndefined();
  await expect(pause(0, new AbortController().signal)).resolves.toBeUndefined();
});
