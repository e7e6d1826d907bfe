/**
 * The open event streams of the console (HTML, 9.2): one message, built once, goes to all readers.
 *
 * A stream that is not read costs bounded memory. When more than 256 KiB wait for a reader, it is
 * behind, and messages are left out for it. Once it has read everything, it gets `reset` and the
 * full state. The bytes that wait are shared: all readers wait for the same buffers. So 16 readers
 * that read nothing hold 256 KiB and one message, not sixteen times as much. (What the kernel
 * buffers for a connection comes on top of it, and is bounded by the kernel.)
 *
 * The class has no timer of its own. `sweep` is called every second, with the time.
 */

/** The response of one reader, as far as it is used here. */
export interface StreamResponse {
  readonly writableLength: number;
  /** Whether its connection is closed already. */
  readonly destroyed: boolean;
  write(bytes: Buffer): unknown;
  end(bytes?: Buffer): unknown;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export interface EventStreamsOptions {
  readonly mostStreams?: number;
  /** Bytes that may wait for one reader before messages are left out. */
  readonly mostWaitingBytes?: number;
  /** A reader that takes nothing for this time is cut off. */
  readonly stuckMs?: number;
  /** A comment is sent after this time without a message. */
  readonly quietMs?: number;
}

interface Reader {
  readonly response: StreamResponse;
  /** Whether messages were left out since its last full state. */
  isBehind: boolean;
  written: number;
  /** Bytes that it had taken when it last took some, and the time of that. */
  taken: number;
  tookAt: number;
  sentAt: number;
}

const COMMENT = Buffer.from(':\n\n');

export class EventStreams {
  readonly #readers = new Set<Reader>();
  readonly mostStreams: number;
  readonly #mostWaitingBytes: number;
  readonly #stuckMs: number;
  readonly #quietMs: number;

  constructor({
    mostStreams = 16,
    mostWaitingBytes = 262_144,
    stuckMs = 60_000,
    quietMs = 15_000,
  }: EventStreamsOptions = {}) {
    this.mostStreams = mostStreams;
    this.#mostWaitingBytes = mostWaitingBytes;
    this.#stuckMs = stuckMs;
    this.#quietMs = quietMs;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** Takes a reader, whose head is written, and sends it its first messages. */
  add(response: StreamResponse, first: Buffer, now: number): void {
    if (response.destroyed) return;
    const reader = { response, isBehind: false, written: 0, taken: 0, tookAt: now, sentAt: now };
    this.#readers.add(reader);
    response.once('close', () => this.#readers.delete(reader));
    this.#write(reader, first, now);
  }

  /** Sends a message to all readers that keep up. */
  send(message: Buffer, now: number): void {
    for (const reader of this.#readers) {
      if (reader.response.writableLength > this.#mostWaitingBytes) reader.isBehind = true;
      if (!reader.isBehind) this.#write(reader, message, now);
    }
  }

  /**
   * Cuts readers off that take nothing, and sends comments where nothing was sent. A reader that
   * was behind and has read everything gets the message of `full`, which is built if it is needed.
   */
  sweep(now: number, full: () => Buffer): void {
    let fullState: Buffer | null = null;
    for (const reader of this.#readers) {
      const { response } = reader;
      const waiting = response.writableLength;
      const taken = reader.written - waiting;
      if (waiting === 0 || taken > reader.taken) {
        reader.taken = taken;
        reader.tookAt = now;
      } else if (now - reader.tookAt >= this.#stuckMs) {
        this.#readers.delete(reader);
        response.destroy();
        continue;
      }
      if (reader.isBehind && waiting === 0) {
        fullState ??= full();
        reader.isBehind = false;
        this.#write(reader, fullState, now);
      } else if (now - reader.sentAt >= this.#quietMs && waiting === 0) {
        this.#write(reader, COMMENT, now);
      }
    }
  }

  /** Ends all streams with a last message. */
  end(last: Buffer): void {
    for (const { response } of this.#readers) response.end(last);
    this.#readers.clear();
  }

  #write(reader: Reader, message: Buffer, now: number): void {
    reader.written += message.length;
    reader.sentAt = now;
    reader.response.write(message);
  }
}

/** One event. JSON has no line ends, so the data is one line. */
export function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
