/**
 * A wire between two nodes: a relay that keeps every byte which passes, and that damages, holds, or
 * cuts what comes back, as a test says. Faults count the bytes of the answers on one connection,
 * heads included.
 */

import { flipBitAt, TcpRelay } from '@bloomery/testkit/relay/tcp-relay';

interface WireFault {
  /** Flips the lowest bit of the byte at this place. */
  readonly flipAt?: number;
  /** Passes on this number of bytes, then none. */
  readonly holdAfter?: number;
  /** Passes on this number of bytes, then closes the connection. */
  readonly cutAfter?: number;
}

export class Wire {
  readonly #relay: TcpRelay;

  private constructor(relay: TcpRelay) {
    this.#relay = relay;
  }

  static async start(to: number): Promise<Wire> {
    return new Wire(await TcpRelay.start({ target: to, record: true }));
  }

  get port(): number {
    return this.#relay.port;
  }

  /** Applies to every connection from now on, and to those that exist. */
  set fault({ flipAt, holdAfter, cutAfter }: WireFault) {
    this.#relay.setFaults({
      toClient: {
        ...(flipAt === undefined ? {} : { damage: flipBitAt(flipAt) }),
        ...(holdAfter === undefined ? {} : { stallAfter: holdAfter }),
        ...(cutAfter === undefined ? {} : { closeAfter: cutAfter }),
      },
    });
  }

  /** Connections that were opened so far. */
  connections(): number {
    return this.#relay.connections.length;
  }

  /** Bytes that came back so far, on all connections. */
  answered(): number {
    return this.#relay.connections.reduce((sum, { passed }) => sum + passed.toClient, 0);
  }

  /** Everything that was sent, in both directions. */
  text(): string {
    return this.#relay.recorded().toString('latin1');
  }

  /** Cuts all connections. */
  dropConnections(): void {
    this.#relay.cut();
  }

  /** Cuts all connections, as a killed node does, and refuses new ones. */
  kill(): void {
    this.#relay.setFaults({ refuse: true });
    this.dropConnections();
  }

  async close(): Promise<void> {
    await this.#relay[Symbol.asyncDispose]();
  }
}
