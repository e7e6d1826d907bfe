/** Reading a descriptor that may be a pipe which somebody else has made non-blocking: waits until something is there. */

import { readSync } from 'node:fs';

/** How many bytes came; 0 at the end. */
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
