/**
 * An intersection over a connection, with errors that a user understands and a limit on silence.
 * The first byte of a session is a B; anything else comes from a program that speaks something
 * else.
 */

import {
  type IntersectionChannel,
  IntersectionError,
  type IntersectionResult,
  type IntersectOptions,
  intersect,
} from '@bloomery/overlay/private';
import { UsageError } from '../usage-error.ts';

/** The part of a connection that is used; `reconcile` makes them. */
export interface OverlapConnection extends IntersectionChannel {
  readonly name: string;
  end(): Promise<string>;
}

export interface OverlapOptions
  extends Pick<IntersectOptions, 'role' | 'group' | 'reveals' | 'padTo' | 'maxPeerKeys' | 'context'> {
  /** Longest silence after the first bytes, or 0 for no limit. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

export async function runOverlap(
  addresses: readonly string[],
  connection: OverlapConnection,
  { silenceMs, signal, ...options }: OverlapOptions,
): Promise<IntersectionResult> {
  const silence = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let heard = false;
  async function* incoming() {
    for await (const bytes of connection.readable) {
      if (!heard) refuseOther(bytes, connection.name, options.role);
      heard = true;
      clearTimeout(timer);
      if (silenceMs > 0)
        timer = setTimeout(() => silence.abort(new UsageError(silent(silenceMs))), silenceMs);
      yield bytes;
    }
  }
  try {
    return await intersect(
      addresses,
      { readable: incoming(), send: (bytes) => connection.send(bytes) },
      { ...options, signal: AbortSignal.any([signal, silence.signal]) },
    );
  } catch (error) {
    throw error instanceof IntersectionError ? await explained(error, connection) : error;
  } finally {
    clearTimeout(timer);
  }
}

function silent(silenceMs: number): string {
  return `nothing came from the other side for ${silenceMs / 1000} s (--silence)`;
}

function refuseOther(bytes: Uint8Array, name: string, role: OverlapOptions['role']): void {
  if (bytes[0] === 0x42) return;
  const quoted = JSON.stringify(
    Buffer.from(bytes.subarray(0, 60)).toString('latin1').trimStart().split('\n')[0],
  );
  throw new UsageError(
    role === 'initiator'
      ? `${name} answered ${quoted} instead of a session; it must run bloomery contacts overlap --serve FILE`
      : `standard input begins with ${quoted} instead of a session; the other side starts --serve`,
  );
}

async function explained(error: IntersectionError, connection: OverlapConnection): Promise<Error> {
  const { name } = connection;
  switch (error.code) {
    case 'closed':
      return new UsageError(`${name} ${await connection.end()} before the session was over`, {
        cause: error,
      });
    case 'limit':
      return new UsageError(`${error.message}; each is a guess, and --max-guesses allows more`, {
        cause: error,
      });
    case 'mismatch':
      // Two sides that both begin, or that want different results.
      if (error.message.endsWith('got two'))
        return new UsageError(`${error.message}; the side that the other one starts must have --serve`, {
          cause: error,
        });
      return new UsageError(`${error.message}; both sides or none must have --count`, { cause: error });
    default:
      return new UsageError(`${name} sent something else than a session (${error.message})`, {
        cause: error,
      });
  }
}
