/**
 * Nodes with the NATS transport on one real server on loopback, each behind a relay with faults.
 * The addresses are names only: no peer port listens there.
 */

import { NatsServer, type NatsServerSettings } from '@bloomery/testkit/programs/nats-server';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { NatsTransport, type NatsTransportOptions } from '../../src/nats/index.ts';

const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);

/** Short intervals, but long enough for a machine with other work. */
const LIMITS = { heartbeatMs: 400, pingMs: 2000, firstPauseMs: 10, longestPauseMs: 50, connectMs: 1000 };

export interface Told {
  readonly level: string;
  readonly name: string;
  readonly fields: Record<string, unknown>;
}

export class NatsFleet implements AsyncDisposable {
  readonly server: NatsServer;
  readonly events: Told[] = [];
  readonly #relays = new Map<string, TcpRelay>();
  readonly #transports: NatsTransport[] = [];

  private constructor(server: NatsServer) {
    this.server = server;
  }

  static async start(settings?: NatsServerSettings): Promise<NatsFleet> {
    return new NatsFleet(await NatsServer.start(settings));
  }

  address(name: string): string {
    return `http://${name}.example:3129`;
  }

  relay(name: string): TcpRelay {
    const relay = this.#relays.get(name);
    if (relay === undefined) throw new Error(`Cannot find a node: expected one that runs, got ${name}`);
    return relay;
  }

  /** Starts a node. Its neighbours need no names; those that are given are expected. */
  async node(
    name: string,
    { limits, ...options }: Partial<NatsTransportOptions> = {},
  ): Promise<NatsTransport> {
    const relay = this.#relays.get(name) ?? (await TcpRelay.start({ target: this.server.port }));
    this.#relays.set(name, relay);
    const transport = await NatsTransport.load({
      id: name,
      secret: SECRET,
      fleet: 'test',
      address: this.address(name),
      server: { url: `nats://127.0.0.1:${relay.port}` },
      limits: { ...LIMITS, ...limits },
      event: (level, event, fields) => this.events.push({ level, name: event, fields }),
      ...options,
    });
    this.#transports.push(transport);
    return transport;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#transports.map((transport) => transport.close()));
    for (const relay of this.#relays.values()) await relay[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}
