/**
 * The chunks of a pipe, joined into parts. A read from a pipe gives 64 kB at most, so several reads
 * share the cost of one part. A part leaves when it is full, when nothing came for 20 ms, and at
 * the latest 20 ms after its first chunk, so the output of `tail -f` is not delayed.
 *
 * The last limit is the one that counts for live input. Without it, a packet every 10 ms kept a
 * part open until it was full, which takes 40 s at 13 kB/s: `digestd` wrote nothing meanwhile, and
 * a kill lost all of it.
 */

import type { Readable } from 'node:stream';

const PATIENCE_MS = 20;

/** Yields parts of `mostBytes`, or a chunk more. The memory of a part is not reused. */
export async function* gatheredParts(
  stream: Readable,
  mostBytes: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let gathered: Uint8Array[] = [];
  let size = 0;
  let deadline = 0;
  const chunks = (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  let next = chunks.next();
  try {
    for (;;) {
      const found = size === 0 ? await next : await within(deadline, next);
      if (found !== undefined && !found.done) {
        if (size === 0) deadline = performance.now() + PATIENCE_MS;
        gathered.push(found.value);
        size += found.value.length;
        next = chunks.next();
        if (size < mostBytes && performance.now() < deadline) continue;
      }
      if (size > 0) yield joined(gathered, size);
      if (found?.done) return;
      gathered = [];
      size = 0;
    }
  } finally {
    // A caller that stops early does not wait for the rest of the input.
    next.catch(() => {});
    stream.destroy();
  }
}

/** Returns the value if it comes before the deadline, otherwise undefined. */
async function within<T>(deadline: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const pause = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), deadline - performance.now());
  });
  try {
    return await Promise.race([promise, pause]);
  } finally {
    clearTimeout(timer);
  }
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
