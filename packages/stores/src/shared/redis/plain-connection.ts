/**
 * A connection to Redis by a socket of our own, with the settings of the caller's client. Only the
 * reader of a log has one: it asks a hundred times a second, and the way through a client took a
 * third of its CPU.
 *
 * An entry of a log with 100 entries per second costs 263 µs of CPU by this connection and 382 µs
 * by a copy of `ioredis`, in one run (bench/results/shared-readers.md). `onread` gives the bytes to
 * a function, in a buffer that is used again, without the machinery of streams. We weighed PUBLISH
 * and SUBSCRIBE, which need no command per entry. They have no flow control, need a right that
 * users of Redis lack by default, and would need a second protocol to find gaps.
 *
 * Everything is RESP2 (reply-reader.ts). Where this connection cannot be opened, for whatever
 * reason, the reader takes a copy of the client instead, whose error counts.
 */

import { connect as connectNet, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { PlainSettings } from './plain-settings.ts';
import { type Reply, ReplyReader } from './reply-reader.ts';

const CHUNK_BYTES = 64 * 1024;
/** Idle time after which the system asks whether the server is still there. */
const KEEP_ALIVE_MS = 5000;

/** Takes the answer to a command: a reply, or the error that came instead. */
export type Answer = (isDone: boolean, value: unknown) => void;

export class PlainConnection {
  readonly #socket: Socket;
  readonly #replies = new ReplyReader((reply) => this.#answer(reply));
  /** Commands that wait for their replies, in the order of both. */
  #open: Answer[] = [];
  #error: Error | null = null;

  constructor({ socket, isTls }: PlainSettings) {
    const options = {
      ...socket,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      onread: {
        buffer: Buffer.alloc(CHUNK_BYTES),
        callback: (length: number, chunk: Uint8Array) => this.#take(chunk.subarray(0, length)),
      },
    };
    this.#socket = isTls ? connectTls(options) : connectNet(options);
    this.#socket.on('error', (error) => this.#break(error));
    this.#socket.on('close', () =>
      this.#break(new Error('Cannot ask Redis: expected an open connection, got one that the server closed')),
    );
  }

  /** Gives user, database and name to the server, and waits until it answers. */
  async enter({ credentials, database, name }: PlainSettings): Promise<void> {
    const { username, password } = await credentials();
    // Commands wait in the socket until it is connected.
    if (password) await this.#call(['AUTH', ...(username ? [username] : []), password]);
    if (database !== 0) await this.#call(['SELECT', String(database)]);
    if (name !== '') await this.#call(['CLIENT', 'SETNAME', name]);
    await this.#call(['PING']);
  }

  /** Sends a command. Commands are answered in their order. */
  send(words: readonly (string | Buffer)[], answer: Answer): void {
    if (this.#error !== null) {
      answer(false, this.#error);
      return;
    }
    this.#open.push(answer);
    this.#socket.write(commandOf(words));
  }

  close(): void {
    this.#break(new Error('Cannot ask Redis: expected an open connection, got one that was closed'));
  }

  #call(words: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.send(words, (isDone, value) => (isDone ? resolve : reject)(value));
    });
  }

  #take(chunk: Uint8Array): boolean {
    try {
      this.#replies.take(chunk);
    } catch (error) {
      this.#break(error as Error);
    }
    return true;
  }

  #answer(reply: Reply): void {
    const answer = this.#open.shift();
    if (answer === undefined)
      throw new Error('Cannot read a reply of Redis: expected one to a command, got one more');
    answer(!(reply instanceof Error), reply);
  }

  #break(error: Error): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#socket.destroy();
    const open = this.#open;
    this.#open = [];
    for (const answer of open) answer(false, error);
  }
}

/** The bytes of a command, as text if all of its words are text. */
function commandOf(words: readonly (string | Buffer)[]): string | Buffer {
  let text = `*${words.length}\r\n`;
  const parts: Buffer[] = [];
  for (const word of words) {
    if (typeof word === 'string') {
      text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
      continue;
    }
    parts.push(Buffer.from(`${text}$${word.length}\r\n`), word);
    text = '\r\n';
  }
  return parts.length === 0 ? text : Buffer.concat([...parts, Buffer.from(text)]);
}
