import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { gatheredParts } from './gathered-parts.ts';

const MOST = 1 << 19;

test('gatheredParts hands out what came although a pipe never pauses', async () => {
  // One byte in each turn of the event loop: half a million turns take seconds.
  async function* steady() {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      yield Uint8Array.of(7);
    }
  }
  const parts = gatheredParts(Readable.from(steady(), { objectMode: true }), MOST);
  for (let i = 0; i < 3; i++) {
    const { value } = await parts.next();
    expect(value!.length).toBeGreaterThan(0);
    expect(value!.length).toBeLessThan(MOST);
  }
  await parts.return(undefined);
});

test('gatheredParts joins chunks that come together, in order, and keeps them at the end', async () => {
  const chunks = Array.from({ length: 20 }, (_, i) => new Uint8Array(1 << 16).fill(i));
  const parts: Uint8Array[] = [];
  for await (const part of gatheredParts(Readable.from(chunks), MOST)) parts.push(part);
  expect(parts.length).toBeLessThan(20);
  expect(Buffer.concat(parts).equals(Buffer.concat(chunks))).toBe(true);
});

test('gatheredParts throws the error of the pipe', async () => {
  const stream = new Readable({ read() {} });
  const parts = gatheredParts(stream, MOST);
  const first = parts.next();
  stream.destroy(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
});
