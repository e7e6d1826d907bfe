/**
 * Bytes that leave all nodes of a fleet together when each of them publishes messages of 1,000
 * bytes to all others: by HTTP streams, and by UDP multicast. Point to point, each message goes to
 * N − 1 nodes, so the bytes grow with the square of the fleet. By multicast each goes out once.
 *
 * Nodes are real transports in one process, on loopback. The bytes are those of the sockets: what
 * servers and clients wrote to TCP, and the datagrams. Heads of TCP, UDP and IP are not among them.
 * A switch copies a datagram to every port, so each node still receives N − 1 of them.
 */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Transport } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { MulticastTransport, openMulticastSocket } from '@bloomery/transport/multicast';
import { until } from '../../packages/testkit/src/eventually.ts';
import { freeUdpPort } from '../../packages/testkit/src/network/free-udp-port.ts';

const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);
const LOOPBACK = '127.0.0.1';
const MESSAGE_BYTES = 1000;
const MESSAGES = 4;
/** No beat falls into the time of a measurement. */
const HEARTBEAT_MS = 60_000;

/** A server of a peer port, which counts all bytes of its connections, in both directions. */
class PeerPort {
  readonly server: Server;
  readonly #sockets: Socket[] = [];
  handle: RequestListener = (_, response) => void response.writeHead(404).end();

  constructor() {
    this.server = createServer((request, response) => this.handle(request, response));
    this.server.on('connection', (socket: Socket) => this.#sockets.push(socket));
  }

  get address(): string {
    return `http://${LOOPBACK}:${(this.server.address() as AddressInfo).port}`;
  }

  get bytes(): number {
    return this.#sockets.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
  }
}

interface Node {
  readonly transport: Transport;
  readonly port: PeerPort;
}

type MakeNode = (id: string, port: PeerPort, others: readonly string[]) => Transport;

/** Bytes of all nodes, while each publishes MESSAGES messages that all others get. */
async function measure(size: number, make: MakeNode, datagramBytes: () => number): Promise<number> {
  const ports = await Promise.all(Array.from({ length: size }, newPort));
  const nodes: Node[] = ports.map((port, i) => {
    const others = ports.filter((other) => other !== port).map(({ address }) => address);
    return { transport: make(`node-${i}`, port, others), port };
  });
  try {
    let [opened, heard] = [0, 0];
    for (const { transport, port } of nodes)
      for (const { address } of ports)
        if (address !== port.address)
          transport.subscribe(address, 'x', {
            open: () => void opened++,
            closed: () => {},
            message: () => void heard++,
          });
    const pairs = size * (size - 1);
    await until('all hear each other', () => opened >= pairs);
    await until('all are up', () => nodes.every(({ transport }) => areUp(transport)));
    const bytes = () => ports.reduce((sum, port) => sum + port.bytes, 0) + datagramBytes();
    const before = bytes();
    heard = 0;
    for (let i = 0; i < MESSAGES; i++) {
      for (const { transport } of nodes) transport.publish('x', new Uint8Array(MESSAGE_BYTES).fill(i));
      const wanted = (i + 1) * pairs;
      await until('all have come', () => heard === wanted);
    }
    return (bytes() - before) / MESSAGES;
  } finally {
    await Promise.all(nodes.map(({ transport }) => transport.close()));
    for (const { server } of ports) {
      server.closeAllConnections();
      server.close();
    }
  }
}

const areUp = (transport: Transport) => transport.peers().every(({ state }) => state === 'up');

async function newPort(): Promise<PeerPort> {
  const port = new PeerPort();
  await once(port.server.listen(0, LOOPBACK), 'listening');
  return port;
}

function byStreams(size: number): Promise<number> {
  const make: MakeNode = (id, port, peers) => {
    const transport = new HttpTransport({
      id,
      secret: SECRET,
      peers,
      limits: { heartbeatMs: HEARTBEAT_MS, helloMs: HEARTBEAT_MS, firstPauseMs: 10, longestPauseMs: 100 },
    });
    port.handle = (request, response) => void transport.handle(request, response);
    return transport;
  };
  return measure(size, make, () => 0);
}

async function byMulticast(size: number): Promise<number> {
  const group = `239.192.77.2:${await freeUdpPort()}`;
  let sent = 0;
  const make: MakeNode = (id, port, peers) => {
    const transport = new MulticastTransport({
      id,
      secret: SECRET,
      group,
      network: LOOPBACK,
      address: port.address,
      peers,
      limits: { heartbeatMs: HEARTBEAT_MS, askMs: HEARTBEAT_MS },
      openSocket: async (options) => {
        const socket = await openMulticastSocket(options);
        return {
          send: (datagram) => {
            sent += datagram.length;
            socket.send(datagram);
          },
          close: () => socket.close(),
        };
      },
    });
    port.handle = (request, response) => void transport.handle(request, response);
    return transport;
  };
  return measure(size, make, () => sent);
}

/** Lines of the table in Markdown. */
export async function multicastTable(isQuick: boolean): Promise<string[]> {
  const sizes = isQuick ? [2, 4, 8] : [2, 4, 8, 16, 32];
  const rows: string[] = [];
  for (const size of sizes) {
    const [streams, multicast] = [await byStreams(size), await byMulticast(size)];
    const cells = [size, streams, multicast, streams / size / (size - 1), multicast / size];
    const ratio = (streams / multicast).toFixed(1);
    rows.push(`| ${cells.map((cell) => Math.round(cell).toLocaleString('en')).join(' | ')} | ${ratio} |`);
  }
  return [
    `Every node publishes a message of ${MESSAGE_BYTES} bytes to all others. Bytes that leave all nodes together, without the`,
    'heads of TCP, UDP and IP.',
    '',
    '| nodes | streams | multicast | streams, per message and receiver | multicast, per message | ratio |',
    '|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}
