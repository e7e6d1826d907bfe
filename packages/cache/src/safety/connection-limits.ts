/**
 * How many connections there may be, in total and from one client. Sockets are the scarcest thing a server has: a client that opens
 * thousands and sends nothing costs it nothing and everybody else the service.
 *
 * A connection beyond a limit is told so in one write and closed before anything of it is parsed (over TLS it is only closed: an
 * answer would cost a handshake). Counting is by address; of IPv6 by the first 64 bits, since a network of that size is
 * what one subscriber is given (RFC 6177), and 2^64 addresses in it cost nothing.
 *
 * Where it breaks down: many clients behind one NAT are one client here; raise `connectionsPerClient` for them.
 */

import type { Server, Socket } from 'node:net';
import { parseAddress } from './ip-address.ts';
import type { Limits } from './limits.ts';
import { type Refusal, refusal, refusalBytes } from './refusal.ts';

export interface ConnectionLimits {
  /** Open now. */
  readonly open: number;
  /** Turned away so far. */
  readonly refused: number;
  /** Clients with at least one open connection. */
  readonly clients: number;
}

export interface ConnectionLimitOptions {
  readonly limits: Pick<Limits, 'connections' | 'connectionsPerClient'>;
  /** Answer in plain HTTP; false for TLS. */
  readonly plain: boolean;
  refused?(why: Refusal, client: string): void;
}

/** Attach before the server listens. Servers that share a count are given the same `shared`. */
export function limitConnections(
  server: Server,
  options: ConnectionLimitOptions,
  shared: ConnectionCounter = new ConnectionCounter(),
): ConnectionLimits {
  // Before Node's own listener, which would begin to parse.
  server.prependListener('connection', (socket: Socket) => {
    // Read each time: an operator may change them while the server runs.
    const { connections, connectionsPerClient } = options.limits;
    const client = clientKey(socket.remoteAddress);
    const why =
      shared.open >= connections
        ? refusal(503, 'connections', 'Too many connections are open here. Try again later.')
        : shared.of(client) >= connectionsPerClient
          ? refusal(
              429,
              'connections-per-client',
              `More than ${connectionsPerClient} connections from one address.`,
            )
          : null;
    if (why === null) {
      shared.add(client);
      socket.once('close', () => shared.remove(client));
      return;
    }
    shared.refused++;
    options.refused?.(why, client);
    socket.on('error', () => {});
    // A write this short goes to the kernel at once; what the client has sent meanwhile is never read.
    if (options.plain) socket.write(refusalBytes(why));
    socket.destroy();
  });
  return shared;
}

export class ConnectionCounter implements ConnectionLimits {
  open = 0;
  refused = 0;
  readonly #perClient = new Map<string, number>();

  get clients(): number {
    return this.#perClient.size;
  }

  of(client: string): number {
    return this.#perClient.get(client) ?? 0;
  }

  add(client: string): void {
    this.open++;
    this.#perClient.set(client, this.of(client) + 1);
  }

  remove(client: string): void {
    this.open--;
    const left = this.of(client) - 1;
    // Kept only while something is open: addresses that come and go must not add up.
    if (left <= 0) this.#perClient.delete(client);
    else this.#perClient.set(client, left);
  }
}

/** By what connections are counted: the IPv4 address, or the IPv6 network of 64 bits. */
export function clientKey(address: string | undefined): string {
  const parsed = address === undefined ? null : parseAddress(address);
  if (parsed === null) return 'unknown';
  return parsed.family === 4 ? `4:${parsed.words[0]}` : `6:${parsed.words[0]}:${parsed.words[1]}`;
}
