/**
 * CONNECT (RFC 9110, 9.3.6): a tunnel that carries bytes in both directions, without inspecting or
 * storing them. Clients use it for TLS to an origin through a proxy, and for WebSockets through
 * this node.
 *
 * A tunnel is opened only to the ports that the operator named, and only to addresses that the
 * guard allows: it checks the host as written, the addresses that it resolves to and the connected
 * address (`safety/guarded-connect.ts`).
 *
 * Each side may close its half while the other still sends: a FIN is forwarded as a FIN. If neither
 * side sends for `idleTimeoutMs`, or one side accepts nothing for `clientStallMs`, both are
 * destroyed. An error on one side destroys the other, so that it cannot take a truncated stream for
 * a complete one.
 *
 * Refused: `Upgrade`. RFC 9110, 7.8 lets a server ignore it; the field is hop-by-hop and is not
 * forwarded, and a request with it is answered like any other. Clients with a proxy use CONNECT for
 * WebSockets.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressGuard } from '../../safety/address-guard.ts';
import { guardedSocket } from '../../safety/guarded-connect.ts';
import type { Limits } from '../../safety/limits.ts';
import { ownAnswerBytes, statusFor } from '../../safety/own-answer.ts';
import { toOriginError } from '../origin/origin-error.ts';
import type { AnswerOutcome, ProxyObserver } from '../proxy-observer.ts';

export interface TunnelOptions {
  /** The name of this node. */
  readonly name: string;
  readonly ports: readonly number[];
  readonly addresses: AddressGuard;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly observer: ProxyObserver;
}

/** The end of a tunnel that faces the client. */
export interface TunnelClient {
  readonly socket: Duplex;
  readonly address: string;
}

export class Tunnels {
  readonly #options: TunnelOptions;
  readonly #open = new Set<Tunnel>();

  constructor(options: TunnelOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Opens the tunnel for a CONNECT request, or refuses it. */
  open(req: IncomingMessage, client: TunnelClient, head: Buffer): void {
    const options = this.#options;
    const tunnel = new Tunnel(req, client, options, () => this.#open.delete(tunnel));
    this.#open.add(tunnel);
    const target = authorityOf(req.url ?? '');
    if (target === null) {
      tunnel.refuse(400, 'bad-authority', 'Expected CONNECT with host:port', 'refused');
    } else if (!options.ports.includes(target.port)) {
      const ports = options.ports.length === 0 ? 'none' : options.ports.join(', ');
      const text = `Tunnels to port ${target.port} are not allowed here (allowed: ${ports})`;
      tunnel.refuse(403, 'port-not-allowed', text, 'refused');
    } else {
      tunnel.connect(target, head);
    }
  }

  /** Refuses without checking the target. */
  refuse(req: IncomingMessage, client: TunnelClient, status: number, code: string, text: string): void {
    const tunnel = new Tunnel(req, client, this.#options, () => this.#open.delete(tunnel));
    this.#open.add(tunnel);
    tunnel.refuse(status, code, text, 'refused');
  }

  close(): void {
    for (const tunnel of [...this.#open]) tunnel.destroy();
  }
}

class Tunnel {
  readonly #req: IncomingMessage;
  readonly #client: Duplex;
  readonly #options: TunnelOptions;
  readonly #closed: () => void;
  readonly #at: number;
  readonly #began = performance.now();
  readonly #address: string;
  #origin: Socket | null = null;
  #timer: NodeJS.Timeout | null = null;
  #over = false;
  #status = 0;
  #reason = '';
  #outcome: AnswerOutcome = 'tunnel';
  #bytesOut = 0;
  #bytesFromOrigin = 0;

  constructor(
    req: IncomingMessage,
    { socket, address }: TunnelClient,
    options: TunnelOptions,
    closed: () => void,
  ) {
    this.#req = req;
    this.#client = socket;
    this.#options = options;
    this.#closed = closed;
    this.#at = options.clock();
    this.#address = address;
    socket.on('error', () => this.destroy());
    socket.on('close', () =>
      this.#end(this.#origin !== null && !(socket.readableEnded && socket.writableFinished)),
    );
  }

  connect(target: { host: string; port: number }, head: Buffer): void {
    const { addresses, limits } = this.#options;
    const timeoutMs = limits.originConnectTimeoutMs;
    guardedSocket(addresses, { ...target, timeoutMs }, (error, origin) => {
      if (this.#over) {
        origin?.on('error', ignore).destroy();
        return;
      }
      if (error !== null || origin === null) {
        const failure = toOriginError(error, `${target.host}:${target.port}`, 'nothing');
        this.refuse(
          failure.status,
          failure.code,
          failure.message,
          failure.status === 403 ? 'refused' : 'error',
        );
        return;
      }
      this.#join(origin, head);
    });
  }

  refuse(status: number, code: string, text: string, outcome: AnswerOutcome): void {
    const asked = this.#req.rawHeaders;
    this.#status = statusFor(asked, status);
    this.#reason = code;
    this.#outcome = outcome;
    const { bytes, bodyLength } = ownAnswerBytes(this.#options.name, { status, code, message: text }, asked);
    this.#bytesOut = bodyLength;
    this.#client.end(bytes, () => this.#client.destroy());
  }

  destroy(): void {
    this.#end(true);
  }

  #join(origin: Socket, head: Buffer): void {
    const client = this.#client;
    this.#origin = origin;
    this.#status = 200;
    // The guard opened the socket without half-close; this takes effect when the other end sends
    // its FIN.
    origin.allowHalfOpen = true;
    origin.on('error', () => this.destroy());
    origin.on('close', () => {
      if (!client.writableFinished && !origin.readableEnded) this.destroy();
    });
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) origin.write(head);
    this.#setTimer(this.#options.limits.idleTimeoutMs);
    this.#carry(client, origin, () => {});
    this.#carry(origin, client, (bytes) => {
      this.#bytesFromOrigin += bytes;
      this.#bytesOut += bytes;
    });
  }

  #carry(from: Duplex, to: Duplex, count: (bytes: number) => void): void {
    const { idleTimeoutMs, clientStallMs } = this.#options.limits;
    from.on('data', (chunk: Buffer) => {
      count(chunk.length);
      if (to.write(chunk)) {
        this.#timer?.refresh();
        return;
      }
      from.pause();
      this.#setTimer(clientStallMs);
    });
    to.on('drain', () => {
      this.#setTimer(idleTimeoutMs);
      from.resume();
    });
    from.on('end', () => {
      to.end();
      if (to.readableEnded) this.#setTimer(clientStallMs);
    });
  }

  #setTimer(ms: number): void {
    if (this.#over) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#reason = 'idle';
      this.destroy();
    }, ms);
  }

  #end(aborted: boolean): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#client.destroy();
    this.#origin?.destroy();
    this.#closed();
    this.#options.observer.answered({
      at: this.#at,
      client: this.#address,
      method: 'CONNECT',
      url: this.#req.url ?? '',
      status: this.#status,
      outcome: this.#outcome,
      reason: this.#reason,
      bytesOut: this.#bytesOut,
      bytesFromOrigin: this.#bytesFromOrigin,
      durationMs: performance.now() - this.#began,
      aborted,
    });
  }
}

/** RFC 9112, 3.2.3: both host and port are required. */
function authorityOf(target: string): { host: string; port: number } | null {
  const parts = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]]+):(\d{1,5})$/i.exec(target);
  if (parts === null) return null;
  const port = Number(parts[2]);
  return port >= 1 && port <= 65535 ? { host: parts[1]!, port } : null;
}

function ignore(): void {}
