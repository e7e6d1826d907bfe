/**
 * Packets of captures, from files and pipes, into a meter. Plain files are read into one buffer
 * again and again, without a stream; packed ones and pipes come in parts.
 *
 * A capture that ends in the middle of a record (its writer was killed, or is still writing) gives
 * its whole packets and a warning. A file that is no capture is an error.
 */

import {
  CaptureDecoder,
  CaptureError,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
  type Tunnel,
} from '@bloomery/packets/capture';
import { type Input, inputsOf, PlainFile } from '../keys/input.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import type { FlowSource } from './flow-source.ts';
import { undecodedText } from './flow-text.ts';

/** Bytes that are read at once: they stay in the second-level cache until they are decoded. */
const CHUNK = 1 << 18;
const BATCH = 2048;

/** Opens captures. Without paths, or with `-`, it is standard input. */
export function packetSource(paths: readonly string[], tunnels: readonly Tunnel[]): FlowSource {
  const inputs = inputsOf(paths);
  const decoder = new HeaderDecoder({ tunnels });
  const sizes = inputs.map(({ bytes }) => bytes ?? Number.NaN);
  return {
    bytes: sizes.reduce((sum, size) => sum + size, 0) || 0,
    undecoded() {
      const { notIp, cut, malformed, linkType } = decoder.counts;
      return { notIp, cut, malformed, linkType };
    },
    notes: () => undecodedText(decoder.counts),
    async read(meter, onRead, signal) {
      const [batch, headers] = [new PacketBatch(BATCH), new HeaderBatch(BATCH)];
      for (const input of inputs) {
        const capture = new CaptureDecoder();
        const take = (bytes: Uint8Array) => {
          capture.push(bytes);
          while (capture.next(batch)) {
            decoder.decode(batch, headers);
            meter.add(batch, headers);
          }
        };
        try {
          if (input.plainFile) await readPlain(input, take, onRead, signal);
          else await readParts(input, take, onRead, signal);
          if (!signal.aborted) capture.end();
        } catch (error) {
          if (!(error instanceof CaptureError)) throw error;
          reportFault(input.path, error, capture.packets);
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
