/**
 * The servers of a node: opened on their addresses with the guards and limits of safety/, and
 * closed without cutting off running answers.
 *
 * When closing, no new connections are accepted, idle ones end at once, and running answers get
 * until the deadline and then `Connection: close`. Connections that are open after that (stalled
 * clients, tunnels, which have no end of their own) are destroyed. Node's `server.close` alone
 * would wait forever for a client that keeps its connection alive.
 *
 * Limits can change while servers run: `applyLimits` sets the values that Node reads for each
 * connection or check of its timeouts. Open connections keep their socket timeout, and are not
 * closed if there are more of them than a lower limit allows.
 */

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ConnectionCounter, limitConnections } from '../../safety/connection-limits.ts';
import { ForwardedClients } from '../../safety/forwarded-client.ts';
import { guardServer } from '../../safety/guard-server.ts';
import type { Limits } from '../../safety/limits.ts';
import { setMaxHeaderSize } from '../../safety/node-internals.ts';
import type { Refusal } from '../../safety/refusal.ts';
import { applyServerSettings, serverOptions } from '../../safety/server-settings.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';

export interface Certificate {
  readonly cert: Buffer | string;
  readonly key: Buffer | string;
}

/** A certificate for a server that asks its clients for theirs. */
export interface MutualCertificate extends Certificate {
  /** The authorities of the clients' certificates. */
  readonly ca: string;
  readonly requestCert: true;
  /** Requests without an accepted certificate come through, so that a handler can say why not. */
  readonly rejectUnauthorized: false;
}

export interface ServerHandlers {
  /** Whether requests that were not read are answered by a reset; see `guard-server.ts`. */
  resetsUnread?(): boolean;
  /** The name of this node, which a new configuration may change. */
  name(): string;
  /** A connection with TLS has begun. */
  secured?(socket: Socket): void;
  /** Networks of trusted proxies in front of this node; a new configuration may change them. */
  trustForwarded?(): readonly string[];
  /** `client` is the address that the connection came from, or that a trusted proxy names. */
  request(request: IncomingMessage, response: ServerResponse, client: string): void;
  connect(request: IncomingMessage, socket: Duplex, head: Buffer, client: string): void;
  refused(why: Refusal, from: { client: string; method: string | null; target: string | null }): void;
  /**
   * A connection could not be accepted, for lack of descriptors or memory; the next one may
   * succeed.
   */
  failed(error: Error): void;
}

const NONE: readonly string[] = [];
/** Number of ports tried after a default port that is in use. */
const NEXT_PORTS = 20;
const SWEEP_MS = 50;
/**
 * Maximum interval at which Node checks timeouts. It cannot be changed later, and a timeout may be
 * lowered.
 */
const CHECK_MS = 1000;

export class NodeServers {
  readonly counter = new ConnectionCounter();
  /** Connections so far. */
  total = 0;
  readonly #handlers: ServerHandlers;
  readonly #limits: Limits;
  readonly #servers: (Server | SecureServer)[] = [];
  readonly #sockets = new Set<Socket>();
  /**
   * The sockets inside TLS: their bytes read are those of the client's requests, without the
   * handshake.
   */
  readonly #secureSockets = new Set<Socket>();
  /** The networks for which `#forwardedClients` was made. */
  #trusted: readonly string[] = NONE;
  #forwardedClients: ForwardedClients | null = null;

  /**
   * `limits` may change later: the guards read it at each connection and request, and `applyLimits`
   * passes it to the servers.
   */
  constructor(handlers: ServerHandlers, limits: Limits) {
    this.#handlers = handlers;
    this.#limits = limits;
  }

  #forwarded(): ForwardedClients | null {
    const trusted = this.#handlers.trustForwarded?.() ?? NONE;
    if (trusted !== this.#trusted) {
      this.#trusted = trusted;
      this.#forwardedClients = trusted.length === 0 ? null : new ForwardedClients(trusted);
    }
    return this.#forwardedClients;
  }

  /** Opens a server. Returns the address with the actual port. */
  async open(
    address: ListenAddress,
    options: { certificate: Certificate | MutualCertificate | null; nextFree: boolean },
  ): Promise<ListenAddress> {
    const server = this.#create(address.secure ? options.certificate : null);
    for (let attempt = 0; ; attempt++) {
      try {
        const port = address.port === 0 ? 0 : address.port + attempt;
        await listen(server, { host: address.host, port });
        break;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EADDRINUSE' && options.nextFree && attempt < NEXT_PORTS) continue;
        const place = `${address.host}:${address.port}`;
        const why = LISTEN_ERRORS[code ?? ''] ?? (error as Error).message;
        throw new Error(`Cannot listen on ${place}: ${why}`, { cause: error });
      }
    }
    // Without a listener, an error of accept(2) would end the process.
    server.on('error', (error: Error) => this.#handlers.failed(error));
    this.#servers.push(server);
    const { port } = server.address() as AddressInfo;
    return { ...address, port };
  }

  /** Applies the current values of `limits`. */
  applyLimits(): void {
    for (const server of this.#servers) {
      applyServerSettings(server as Server, this.#limits);
      const { maxHeaderSize, headersTimeout, requestTimeout, keepAliveTimeout } = serverOptions(this.#limits);
      Object.assign(server, { headersTimeout, requestTimeout, keepAliveTimeout });
      setMaxHeaderSize(server as Server, maxHeaderSize);
    }
  }

  /** New connections use the new certificate. */
  changeCertificate(certificate: Certificate): void {
    for (const server of this.#servers)
      if ('setSecureContext' in server) server.setSecureContext(certificate);
  }

  /** Returns the number of connections that were destroyed at the deadline. */
  async close(deadlineMs: number): Promise<number> {
    const closed = Promise.all(
      this.#servers.map((server) => new Promise((resolve) => server.close(resolve))),
    );
    const closeIdle = () => {
      for (const server of this.#servers) server.closeIdleConnections();
      // Node does not count connections as idle that have never sent anything.
      for (const sockets of [this.#sockets, this.#secureSockets]) {
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }
    };
    closeIdle();
    const sweep = setInterval(closeIdle, SWEEP_MS);
    const quiet = Promise.all([closed, this.#allSocketsClosed()]);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise((resolve) => {
      timer = setTimeout(resolve, deadlineMs);
    });
    await Promise.race([quiet, deadline]);
    clearInterval(sweep);
    clearTimeout(timer);
    const left = this.#sockets.size;
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    return left;
  }

  #create(certificate: Certificate | null): Server | SecureServer {
    const wanted = serverOptions(this.#limits);
    const options = {
      ...wanted,
      connectionsCheckingInterval: Math.min(wanted.connectionsCheckingInterval ?? CHECK_MS, CHECK_MS),
    };
    const server =
      certificate === null
        ? createServer(options)
        : createSecureServer({
            ...options,
            ...certificate,
            ALPNProtocols: ['http/1.1'],
            // The same time as for a head; Node would wait for two minutes.
            handshakeTimeout: this.#limits.headTimeoutMs,
          });
    applyServerSettings(server as Server, this.#limits);
    guardServer(server as Server, {
      limits: this.#limits,
      resetsUnread: () => this.#handlers.resetsUnread?.() ?? false,
      name: () => this.#handlers.name(),
      forwarded: () => this.#forwarded(),
      request: (request, response, client) => this.#handlers.request(request, response, client),
      connect: (request, socket, head, client) => this.#handlers.connect(request, socket, head, client),
      refused: (why, from) => this.#handlers.refused(why, from),
    });
    server.on('connection', (socket: Socket) => {
      this.total++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    limitConnections(
      server,
      {
        limits: this.#limits,
        plain: certificate === null,
        resetsUnread: () => this.#handlers.resetsUnread?.() ?? false,
        name: () => this.#handlers.name(),
        uncounted: (address) => this.#forwarded()?.trusts(address) ?? false,
        refused: (why, client) => this.#handlers.refused(why, { client, method: null, target: null }),
      },
      this.counter,
    );
    server.on('secureConnection', (socket: Socket) => {
      this.#secureSockets.add(socket);
      this.#handlers.secured?.(socket);
      socket.once('close', () => this.#secureSockets.delete(socket));
    });
    // A handshake that fails, or does not end, is the client's problem and is not reported.
    server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
    return server;
  }

  /** Tunnels no longer belong to a server, so they are awaited here. */
  #allSocketsClosed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#sockets.size === 0) resolve();
      for (const socket of this.#sockets) {
        socket.once('close', () => {
          if (this.#sockets.size === 0) resolve();
        });
      }
    });
  }
}

export function readCertificate({ tls }: NodeConfig): Certificate | null {
  return tls === null ? null : { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
}

export function listen(
  server: Server | SecureServer,
  where: { host: string; port: number } | { path: string; exclusive: true },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error);
    server.once('error', failed);
    server.listen(where, () => {
      server.off('error', failed);
      resolve();
    });
  });
}

const LISTEN_ERRORS: Record<string, string> = {
  EADDRINUSE: 'another program listens there already',
  EACCES: 'not permitted; ports below 1024 need privileges',
  EADDRNOTAVAIL: 'this machine does not have that address',
};
