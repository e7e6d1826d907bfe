/**
 * Standard output, which is only for data. Writes are synchronous: the data is out before the next
 * step, memory stays bounded however slow the reader is, and a closed pipe (`| head`) is noticed at
 * the first write, not after all work is done.
 */

import { writeSync } from 'node:fs';

/** Thrown when the reader has closed the pipe. `main` then ends without a message. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe';
}

/** Writes text or bytes as they are. */
export function write(data: string | Uint8Array, descriptor = 1): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') throw new ClosedPipe();
      // The pipe is full, and another process has made it non-blocking.
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

/** Writes a line of text. */
export function writeLine(text = ''): void {
  write(`${text}\n`);
}

/** Writes one JSON value on its own line, with bigints as strings. */
export function writeJson(value: unknown): void {
  writeLine(JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part)));
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
