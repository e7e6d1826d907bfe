/**
 * An origin that sends scripted bytes, and the faults that tests script. It is a TCP server that
 * looks for the path in the first line of a request and knows nothing else about HTTP.
 */

import { createServer, type Server, type Socket } from 'node:net';

export const OK = 'HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n';
export const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Writes to the connection when a path is requested; `count` is the number of requests for it. */
export type Fault = (socket: Socket, count: number) => void;

/** Sends the raw bytes that are scripted for the path in the first line. */
export class RawOrigin {
  readonly counts = new Map<string, number>();
  readonly sockets = new Set<Socket>();
  readonly #faults = new Map<string, Fault>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.sockets.delete(socket));
      let head = '';
      socket.on('data', (bytes) => {
        head += bytes.toString('latin1');
        if (!head.includes('\r\n\r\n')) return;
        const path = /^\w+ (\S+)/.exec(head)?.[1] ?? '';
        head = '';
        const count = (this.counts.get(path) ?? 0) + 1;
        this.counts.set(path, count);
        this.#faults.get(path)?.(socket, count);
      });
    });
  }

  on(path: string, fault: Fault): void {
    this.#faults.set(path, fault);
  }

  listen(): Promise<number> {
    return new Promise((resolve) =>
      this.#server.listen(0, '127.0.0.1', () => resolve((this.#server.address() as { port: number }).port)),
    );
  }

  drop(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): Promise<void> {
    this.drop();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** Sends the text, and then ends, resets or keeps the connection. */
export const say =
  (text: string | Buffer, then: 'end' | 'reset' | 'stay' = 'end'): Fault =>
  (socket) => {
    socket.write(text, 'latin1' as BufferEncoding, () => {
      // The bytes must arrive before the end of the connection, and a reset would overtake them.
      if (then === 'end') socket.end();
      else if (then === 'reset') setTimeout(() => socket.resetAndDestroy(), 60);
    });
  };

/** Sends a text again and again, forever. */
export const repeat =
  (first: string, again: string, everyMs: number): Fault =>
  (socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(again), everyMs);
    socket.on('close', () => clearInterval(timer));
  };

/** Sends a text forever, as fast as the client reads. */
export const flood =
  (first: string, again: string): Fault =>
  (socket) => {
    socket.write(first);
    const more = () => {
      while (!socket.destroyed && socket.write(again));
    };
    socket.on('drain', more);
    more();
  };

/** Sends a body one character at a time. */
export function trickle(text: string, everyMs: number): Fault {
  return (socket) => {
    socket.write(`${OK}Content-Length: ${text.length}\r\n\r\n`);
    let at = 0;
    const timer = setInterval(() => {
      if (at < text.length) socket.write(text[at++] as string);
      else clearInterval(timer);
    }, everyMs);
    socket.on('close', () => clearInterval(timer));
  };
}

export function listen(accept: (socket: Socket) => void): Promise<[Server, number]> {
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      accept(socket);
    });
    server.listen(0, '127.0.0.1', () => resolve([server, (server.address() as { port: number }).port]));
  });
}

/** A port on which no program listens. */
export async function freePort(): Promise<number> {
  const [server, free] = await listen(() => {});
  await new Promise((resolve) => server.close(resolve));
  return free;
}
