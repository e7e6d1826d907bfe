/**
 * A session over a connection: what `reconcile` does, with errors that a user understands, a limit
 * on silence, and a bar of progress.
 *
 * The first byte of each role is known: a hello begins with 1, a summary with 2. Any other byte
 * comes from a program that speaks something else: a shell that prints a greeting, a wrong command,
 * text on standard input. The message quotes its first line.
 */

import { ReconcileError, reconcile } from '@bloomery/reconcile';
import type { PackedKeys } from 'bloomery';
import { startProgress } from '../terminal/progress.ts';
import { UsageError } from '../usage-error.ts';
import type { Connection } from './connection.ts';
import { type KeyDifference, ownKeys, RoundTrips } from './key-difference.ts';

export interface SessionOptions {
  readonly role: 'initiator' | 'responder';
  readonly exchange: boolean;
  readonly maxBytes: number;
  /** Longest silence after the first bytes, or 0 for no limit. */
  readonly silenceMs: number;
  readonly showsProgress: boolean;
  readonly signal: AbortSignal;
}

/** The connection broke in the middle of a session, so another try may succeed. */
export class BrokenConnection extends UsageError {}

export async function runSession(
  keys: PackedKeys,
  connection: Connection,
  options: SessionOptions,
): Promise<KeyDifference> {
  const { role, exchange, maxBytes, showsProgress } = options;
  const watch = new SilenceWatch(options);
  const trips = new RoundTrips();
  let progress: ReturnType<typeof startProgress> | undefined;
  let shown = 0;
  let heard = false;
  async function* incoming() {
    for await (const bytes of connection.readable) {
      if (!heard) {
        refuseOther(bytes, role, connection.name);
        // The bar begins with the first bytes, because ssh may be asking for a password before
        // them.
        progress = startProgress({ what: 'reconciling', enabled: showsProgress });
      }
      heard = true;
      watch.renew();
      trips.received();
      yield bytes;
    }
  }
  const send = (bytes: Uint8Array) => {
    trips.sent();
    return connection.send(bytes);
  };
  try {
    const outcome = await reconcile(
      keys,
      { readable: incoming(), writable: send },
      {
        role,
        exchange,
        maxBytes,
        signal: watch.signal,
        onProgress: ({ bytesSent, bytesReceived }) => {
          progress?.advance(bytesSent + bytesReceived - shown);
          shown = progress === undefined ? 0 : bytesSent + bytesReceived;
        },
      },
    );
    const { onlyThere, onlyThereCount, method } = outcome;
    const { bytesSent, bytesReceived, attempts } = outcome.progress;
    return {
      onlyHere: ownKeys(outcome),
      onlyThere,
      onlyThereCount,
      cost: { method, bytesSent, bytesReceived, roundTrips: trips.count, attempts },
    };
  } catch (error) {
    progress?.stop();
    throw error instanceof ReconcileError ? await explained(error, connection, { heard, role }) : error;
  } finally {
    progress?.stop();
    watch.end();
  }
}

/** Aborts when nothing came for too long, or when the caller's signal says so. */
class SilenceWatch {
  readonly #controller = new AbortController();
  readonly #options: SessionOptions;
  readonly #onAbort = () => this.#controller.abort(this.#options.signal.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    if (options.signal.aborted) this.#onAbort();
    else options.signal.addEventListener('abort', this.#onAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renew(): void {
    clearTimeout(this.#timer);
    const { silenceMs } = this.#options;
    if (silenceMs === 0) return;
    this.#timer = setTimeout(() => {
      const seconds = silenceMs / 1000;
      this.#controller.abort(
        new BrokenConnection(`nothing came from the other side for ${seconds} s (--silence)`),
      );
    }, silenceMs);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}

/** Throws if the first bytes do not begin a session. */
function refuseOther(bytes: Uint8Array, role: SessionOptions['role'], name: string): void {
  if (bytes[0] === (role === 'initiator' ? 2 : 1)) return;
  const quoted = JSON.stringify(
    Buffer.from(bytes.subarray(0, 60)).toString('latin1').trimStart().split('\n')[0],
  );
  if (role === 'initiator') {
    throw new UsageError(
      `${name} answered ${quoted} instead of a session; it must run bloomery reconcile --serve FILE, and its shell must print nothing before it`,
    );
  }
  throw new UsageError(
    `standard input begins with ${quoted} instead of a session; --serve is started by the other side: bloomery reconcile FILE -- ssh HOST bloomery reconcile --serve FILE`,
  );
}

async function explained(
  error: ReconcileError,
  connection: Connection,
  { heard, role }: { readonly heard: boolean; readonly role: SessionOptions['role'] },
): Promise<Error> {
  const { name } = connection;
  if (error.code === 'closed') {
    const text = `${name} ${await connection.end()} before the session was over`;
    if (heard) return new BrokenConnection(text, { cause: error });
    const hint = role === 'initiator' ? '; it must run bloomery reconcile --serve FILE' : '';
    return new UsageError(`${text}${hint}`, { cause: error });
  }
  if (error.code === 'limit')
    return new UsageError(`${error.message}; --max-bytes allows more`, { cause: error });
  if (error.code === 'version')
    return new UsageError(
      `${name} speaks another version (${error.message}); use the same one on both sides`,
      {
        cause: error,
      },
    );
  return new UsageError(`${name} sent something else than a session (${error.message})`, { cause: error });
}
