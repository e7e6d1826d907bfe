/**
 * Reads a descriptor that may be a pipe which another process has made non-blocking. It waits until
 * there is data.
 */

import { readSync } from 'node:fs';

/** Returns the number of bytes read, or 0 at the end. */
export function patientRead(descriptor: number, buffer: Uint8Array): number {
  for (;;) {
    try {
      return readSync(descriptor, buffer);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, 5);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
