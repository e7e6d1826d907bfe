/**
 * Bytes of a capture, from a file or a pipe, into a decoder. A plain file is read into one buffer
 * again and again, without a stream; packed files and pipes come in parts. It ends early when the
 * signal comes, also while a pipe is quiet: the answer after Ctrl-C must not wait for a packet.
 */

import { type Input, PlainFile } from '../keys/input.ts';
import { untilAborted } from '../terminal/until-aborted.ts';

/** Bytes that are read at once: they stay in the second-level cache until they are decoded. */
const CHUNK = 1 << 18;
/** A pause for signals and timers comes after this many chunks. */
const CHUNKS_PER_TURN = 256;

/**
 * Gives the bytes of an input to `take`, and their packed lengths to `onRead`. A plain file is read
 * into `buffer`, if there is one.
 */
export async function feedCapture(
  input: Input,
  take: (bytes: Uint8Array) => void,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
  buffer?: Uint8Array | null,
): Promise<void> {
  if (input.plainFile) await feedPlain(input, take, onRead, signal, buffer ?? new Uint8Array(CHUNK));
  else await feedParts(input, take, onRead, signal);
}

async function feedPlain(
  { path }: Input,
  take: (bytes: Uint8Array) => void,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
  buffer: Uint8Array,
): Promise<void> {
  const file = new PlainFile(path);
  try {
    for (let chunks = 1; !signal.aborted; chunks++) {
      const length = file.read(buffer, 0);
      if (length === 0) return;
      take(buffer.subarray(0, length));
      onRead(length);
      if (chunks % CHUNKS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    file.close();
  }
}

async function feedParts(
  input: Input,
  take: (bytes: Uint8Array) => void,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const parts = input.parts(onRead);
  try {
    for (;;) {
      // A quiet pipe must not hold back the answer after Ctrl-C.
      const part = await untilAborted(parts.next(), signal);
      if (part === undefined || part.done) return;
      take(part.value);
    }
  } finally {
    // The generator waits for a part that may never come, so its end is not waited for.
    void parts.return(undefined).catch(() => {});
    if (signal.aborted && input.path === '-') process.stdin.destroy();
  }
}
