/**
 * A connection to the other side: the standard streams of this process (`--serve`), or those of a
 * program that we start, such as ssh. Its messages on standard error pass through.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { UsageError } from '../usage-error.ts';

export interface Connection {
  readonly readable: AsyncIterable<Uint8Array>;
  /** Sends bytes, and resolves when the next ones may be sent. */
  send(bytes: Uint8Array): Promise<void>;
  /** How the other end can be called in messages. */
  readonly name: string;
  /** Waits a moment for a program whose output has ended, and says how it ended. */
  end(): Promise<string>;
  /** Closes the connection. A program gets some seconds to end by itself. */
  close(): Promise<void>;
}

/** How long a program may go on after its output has ended, or after its input was closed. */
const PATIENCE_MS = 5000;

/** The standard streams of this process. */
export function standardConnection(): Connection {
  const { stdin, stdout } = process;
  // A reader that left does not always close the other direction: it may be the rest of a pipe.
  stdout.on('error', () => stdin.destroy());
  return {
    readable: untilClosed(stdin),
    send: (bytes) => sendTo(stdout, bytes),
    name: 'the other side',
    end: async () => 'closed the connection',
    close: async () => {
      stdin.destroy();
    },
  };
}

/** Starts a program, whose standard input and output become the connection. */
export async function startProgram(words: readonly string[]): Promise<Connection> {
  const [program, ...args] = words;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => {});
  child.stdin.on('error', () => {}); // a program that has ended; its exit code tells why
  try {
    await once(child, 'spawn');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? 'no such program' : code === 'EACCES' ? 'permission denied' : String(code);
    throw new UsageError(`${program}: ${why}; after -- comes the command that leads to the other side`, {
      cause,
    });
  }
  const hasExited = async () => {
    const timer = new AbortController();
    const late = sleep(PATIENCE_MS, timer.signal);
    const ended = await Promise.race([exited, late]);
    timer.abort();
    return ended;
  };
  return {
    readable: untilClosed(child.stdout),
    send: (bytes) => sendTo(child.stdin, bytes),
    name: program,
    end: async () => {
      const ended = await hasExited();
      if (ended === undefined) return 'closed the connection';
      const [code, signal] = ended;
      return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    },
    close: async () => {
      child.stdin.end();
      child.stdout.resume(); // a program that still writes is not held up
      if ((await hasExited()) === undefined) child.kill();
    },
  };
}

/** The bytes of a stream. One that was destroyed has ended. */
async function* untilClosed(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream.iterator({ destroyOnReturn: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function sendTo(stream: Writable, bytes: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.write(bytes)) return;
  // A reader that has left never drains.
  await Promise.race([once(stream, 'drain'), once(stream, 'close')]).catch(() => {});
}

function sleep(ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    signal.addEventListener('abort', () => clearTimeout(timer));
  });
}
