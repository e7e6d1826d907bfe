/**
 * Packets of captures, from files and pipes, for a visitor. Plain files are read into one buffer
 * again and again, without a stream; packed ones and pipes come in parts.
 *
 * A capture that ends in the middle of a record (its writer was killed, or is still writing) gives
 * its whole packets and a warning. A file that is no capture is an error.
 */

import {
  CaptureDecoder,
  CaptureError,
  HeaderBatch,
  type HeaderCounts,
  HeaderDecoder,
  PacketBatch,
  type Tunnel,
} from '@bloomery/packets/capture';
import { type Input, inputsOf, PlainFile } from '../keys/input.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

/** Bytes that are read at once: they stay in the second-level cache until they are decoded. */
const CHUNK = 1 << 18;
const BATCH = 2048;

export interface PacketSource {
  /** Numbers of packets so far, by what became of them. */
  readonly counts: HeaderCounts;
  /** Bytes of all inputs, for a bar of progress; 0 if they are not known. */
  readonly bytes: number;
  /**
   * Reads all inputs. `visit` gets each batch with its headers, valid until it returns. Ends early
   * when `signal` is aborted.
   */
  read(
    visit: (batch: PacketBatch, headers: HeaderBatch) => void,
    onRead: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Opens captures. Without paths, or with `-`, it is standard input. */
export function packetSource(paths: readonly string[], tunnels: readonly Tunnel[]): PacketSource {
  const inputs = inputsOf(paths);
  const headers = new HeaderDecoder({ tunnels });
  const sizes = inputs.map(({ bytes }) => bytes ?? Number.NaN);
  return {
    get counts() {
      return headers.counts;
    },
    bytes: sizes.reduce((sum, size) => sum + size, 0) || 0,
    async read(visit, onRead, signal) {
      const [batch, columns] = [new PacketBatch(BATCH), new HeaderBatch(BATCH)];
      for (const input of inputs) {
        const decoder = new CaptureDecoder();
        const take = (bytes: Uint8Array) => {
          decoder.push(bytes);
          while (decoder.next(batch)) {
            headers.decode(batch, columns);
            visit(batch, columns);
          }
        };
        try {
          if (input.plainFile) await readPlain(input, take, onRead, signal);
          else await readParts(input, take, onRead, signal);
          if (!signal.aborted) decoder.end();
        } catch (error) {
          if (!(error instanceof CaptureError)) throw error;
          reportFault(input.path, error, decoder.packets);
        }
        if (signal.aborted) return;
      }
    },
  };
}

/** A pause for signals and timers comes after this many chunks. */
const CHUNKS_PER_TURN = 256;

async function readPlain(
  { path }: Input,
  take: (bytes: Uint8Array) => void,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const file = new PlainFile(path);
  const buffer = new Uint8Array(CHUNK);
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

async function readParts(
  input: Input,
  take: (bytes: Uint8Array) => void,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const parts = input.parts(onRead);
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  try {
    for (;;) {
      // A quiet pipe must not hold back the answer after Ctrl-C.
      const part = await Promise.race([parts.next(), aborted]);
      if (part === undefined || part.done) return;
      take(part.value);
    }
  } finally {
    // The generator waits for a part that may never come, so its end is not waited for.
    void parts.return(undefined).catch(() => {});
    if (signal.aborted && input.path === '-') process.stdin.destroy();
  }
}

function reportFault(path: string, error: CaptureError, packets: number): void {
  const name = path === '-' ? 'standard input' : path;
  if (packets === 0 && error.code !== 'truncated') {
    throw new UsageError(
      `${name} is no capture: expected pcap or pcapng, as tcpdump -w writes it (${error.message})`,
      { cause: error },
    );
  }
  warn(`${name}: ${error.message}; the packets before it are counted`);
}
