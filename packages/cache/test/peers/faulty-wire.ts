/**
 * A wire between two nodes: a TCP relay that keeps every byte which passes, and that damages,
 * holds, or cuts what comes back, as a test says. Faults count the bytes of the answers on one
 * connection, heads included.
 */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

interface WireFault {
  /** Flips the lowest bit of the byte at this place. */
  readonly flipAt?: number;
  /** Passes on this number of bytes, then none. */
  readonly holdAfter?: number;
  /** Passes on this number of bytes, then closes the connection. */
  readonly cutAfter?: number;
}

export interface Wire {
  readonly port: number;
  /** Applies to every connection from now on, and to those that exist. */
  fault: WireFault;
  /** Connections that were opened so far. */
  connections(): number;
  /** Bytes that came back so far, on all connections. */
  answered(): number;
  /** Everything that passed, in both directions. */
  text(): string;
  /** Cuts all connections. */
  dropConnections(): void;
  /** Cuts all connections, as a killed node does, and refuses new ones. */
  kill(): void;
  close(): Promise<void>;
}

export async function startWire(to: number): Promise<Wire> {
  const passed: Buffer[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let answered = 0;
  let killed = false;
  const server = createServer((near) => {
    if (killed) {
      near.destroy();
      return;
    }
    connections++;
    const far = connect({ port: to, host: '127.0.0.1' });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (chunk) => {
      passed.push(chunk);
      far.write(chunk);
    });
    let place = 0;
    far.on('data', (chunk) => {
      const { flipAt = -1, holdAfter = Number.POSITIVE_INFINITY, cutAfter } = wire.fault;
      const end = Math.max(0, Math.min(chunk.length, (cutAfter ?? holdAfter) - place));
      const bytes = Buffer.from(chunk.subarray(0, end));
      const at = flipAt - place;
      if (at >= 0 && at < bytes.length) bytes[at]! ^= 1;
      place += chunk.length;
      answered += bytes.length;
      passed.push(bytes);
      if (bytes.length > 0) near.write(bytes);
      if (cutAfter !== undefined && place > cutAfter) near.destroySoon();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  const wire: Wire = {
    port: (server.address() as AddressInfo).port,
    fault: {},
    connections: () => connections,
    answered: () => answered,
    text: () => Buffer.concat(passed).toString('latin1'),
    dropConnections,
    kill() {
      killed = true;
      dropConnections();
    },
    async close() {
      dropConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return wire;
}
