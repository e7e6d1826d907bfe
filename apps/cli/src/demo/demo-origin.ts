/**
 * The origin of the demonstration: a web server in this process that takes its time, so that a
 * request that reaches it can be told from one that does not. Every byte of a body follows from its
 * path, so the demonstration checks all that it receives.
 */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** About the time to a server on the same continent. */
export const ORIGIN_DELAY_MS = 40;
/** Bytes per millisecond of a large object: 40 MB/s. */
const LARGE_PACE = 40_000;
const LARGE_PIECE = 200_000;
const PATH = /^\/objects\/([\w-]+)\/(\d{1,8})$/;

export class DemoOrigin {
  /** Number of requests so far. */
  requests = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.requests++;
      const body = demoBody(request.url ?? '');
      const fields = { 'Cache-Control': 'max-age=3600', ETag: `"${this.#tag(request.url ?? '')}"` };
      setTimeout(() => {
        if (body === null) {
          response.writeHead(404).end();
          return;
        }
        response.writeHead(200, { ...fields, 'Content-Length': body.length });
        let at = 0;
        const send = () => {
          response.write(body.subarray(at, at + LARGE_PIECE));
          at += LARGE_PIECE;
          if (at < body.length && !response.destroyed) setTimeout(send, LARGE_PIECE / LARGE_PACE);
          else response.end();
        };
        send();
      }, ORIGIN_DELAY_MS);
    });
  }

  static async start(): Promise<DemoOrigin> {
    const origin = new DemoOrigin();
    origin.#server.listen(0, '127.0.0.1');
    await once(origin.#server, 'listening');
    return origin;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #tag(target: string): string {
    return Buffer.from(target).toString('base64url');
  }
}

/** Target of an object with this name and size. */
export function demoTarget(name: string, bytes: number): string {
  return `/objects/${name}/${bytes}`;
}

/** Body of a target, or null if there is no such object. */
export function demoBody(target: string): Buffer | null {
  const match = PATH.exec(target);
  return match === null ? null : Buffer.alloc(Number(match[2]), `${match[1]} `);
}
