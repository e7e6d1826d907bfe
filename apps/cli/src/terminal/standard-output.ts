/**
 * Standard output, for data and nothing else. Writes are synchronous: what was written is out before the next step, memory
 * stays bounded whatever reads at the other end, and a pipe that was closed (`| head`) is seen at the first write, not
 * after all work is done.
 */

import { writeSync } from 'node:fs';

/** Thrown when nobody reads any more; main ends quietly. */
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
      // A pipe that somebody else has made non-blocking, and that is full.
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

/** A line of text. */
export function writeLine(text = ''): void {
  write(`${text}\n`);
}

/** One JSON value on a line of its own; bigints as strings. */
export function writeJson(value: unknown): void {
  writeLine(JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part)));
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
