/**
 * Limits on the number of connections, in total and per client. Sockets are a server's scarcest
 * resource: a client that opens thousands and sends nothing pays nothing, and keeps all other
 * clients from being served.
 *
 * A connection beyond a limit gets a refusal in a single write and is closed before any of its
 * bytes are parsed. Over TLS it is only closed, because an answer would cost a handshake. A node
 * that serves Squids resets it: an answer would be read as one to a request that is not known.
 * Connections are counted per address. For IPv6 they are counted per 64-bit prefix, because a
 * subscriber is given a network of that size (RFC 6177) and can use any of its 2^64 addresses at no
 * cost.
 *
 * Where it breaks down: many clients behind one NAT count as one client; raise
 * `connectionsPerClient` for them.
 */

import type { Server, Socket } from 'node:net';
import { clientAddress } from './client-guard.ts';
import { parseAddress } from './ip-address.ts';
import type { Limits } from './limits.ts';
import { ownAnswerBytes } from './own-answer.ts';
import { type Refusal, refusal } from './refusal.ts';

export interface ConnectionLimits {
  /** Connections that are open now. */
  readonly open: number;
  /** Connections refused so far. */
  readonly refused: number;
  /** Clients with at least one open connection. */
  readonly clients: number;
}

export interface ConnectionLimitOptions {
  readonly limits: Pick<Limits, 'connections' | 'connectionsPerClient'>;
  /** Whether to answer in plain HTTP; false for TLS. */
  readonly plain: boolean;
  /** Whether to reset the connection instead of answering; see `guard-server.ts`. */
  resetsUnread?(): boolean;
  /** The name of this node, which a new configuration may change. */
  name(): string;
  /** Whether the connections of this address are not counted, because it has many clients. */
  uncounted?(address: string): boolean;
  refused?(why: Refusal, client: string): void;
}

/**
 * Attaches the limits; call it before the server listens. Servers that share a count get the same
 * `shared`.
 */
export function limitConnections(
  server: Server,
  options: ConnectionLimitOptions,
  shared: ConnectionCounter = new ConnectionCounter(),
): ConnectionLimits {
  // Runs before Node's own listener, which would start to parse.
  server.prependListener('connection', (socket: Socket) => {
    // Read for each connection, because an operator may change the limits while the server runs.
    const { connections, connectionsPerClient } = options.limits;
    const client = clientKey(clientAddress(socket));
    const why =
      shared.open >= connections
        ? refusal(503, 'connections', 'Too many connections are open here. Try again later.')
        : shared.of(client) >= connectionsPerClient && !options.uncounted?.(clientAddress(socket))
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
    // A write this short reaches the kernel at once. The bytes that the client has sent meanwhile
    // are never read.
    if (options.resetsUnread?.()) {
      socket.resetAndDestroy();
      return;
    }
    if (options.plain) socket.write(ownAnswerBytes(options.name(), why).bytes);
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
    // Entries exist only while a connection is open, so that addresses that come and go do not
    // accumulate.
    if (left <= 0) this.#perClient.delete(client);
    else this.#perClient.set(client, left);
  }
}

/** The key by which connections are counted: the IPv4 address, or the 64-bit IPv6 prefix. */
export function clientKey(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return 'unknown';
  return parsed.family === 4 ? `4:${parsed.words[0]}` : `6:${parsed.words[0]}:${parsed.words[1]}`;
}
