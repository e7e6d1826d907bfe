import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { feedCapture } from './feed-capture.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A pipe of parts, each of which is seen through a weak reference. */
function pipe(seen: WeakRef<Uint8Array>[], count: number) {
  async function* parts() {
    for (let i = 0; i < count; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      const part = new Uint8Array(1 << 16);
      seen.push(new WeakRef(part));
      yield part;
    }
  }
  return { path: 'pipe', bytes: undefined, plainFile: false, parts };
}

test('feedCapture keeps no part of a pipe after it was taken', async () => {
  const seen: WeakRef<Uint8Array>[] = [];
  let kept = -1;
  const { signal } = new AbortController();
  const take = () => {
    if (seen.length < 100) return;
    collectGarbage();
    kept = seen.filter((part) => part.deref() !== undefined).length;
  };
  await feedCapture(pipe(seen, 100), take, () => {}, signal);
  // The last ones may still be on the stack.
  expect(kept).toBeGreaterThanOrEqual(0);
  expect(kept).toBeLessThan(5);
});

test('feedCapture ends when the signal is aborted while a pipe is quiet', async () => {
  const stop = new AbortController();
  async function* parts() {
    yield new Uint8Array(1);
    await new Promise(() => {});
  }
  const input = { path: 'pipe', bytes: undefined, plainFile: false, parts };
  let taken = 0;
  const fed = feedCapture(
    input,
    () => {
      taken++;
      setImmediate(() => stop.abort());
    },
    () => {},
    stop.signal,
  );
  await fed;
  expect(taken).toBe(1);
});
