/**
 * The port for neighbours: a server with the guards and limits of the node, for requests only. A
 * node without workers opens it, or the primary of several.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Limits } from '../../safety/limits.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import { type Certificate, NodeServers } from '../listen/node-servers.ts';

export interface PeerPortOptions {
  readonly address: ListenAddress;
  readonly certificate: Certificate | null;
  /** The limits of the whole node. */
  readonly limits: Limits;
  /** The name of the node, for its refusals. */
  readonly name: () => string;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  readonly failed: (error: Error) => void;
}

export interface PeerPort {
  /** The address with the actual port. */
  readonly address: ListenAddress;
  changeCertificate(certificate: Certificate): void;
  /** Cuts the answers that still run. */
  close(): Promise<void>;
}

export async function openPeerPort(options: PeerPortOptions): Promise<PeerPort> {
  const { limits, certificate, name, handle, failed } = options;
  const handlers = {
    name,
    request: handle,
    connect: (_request: unknown, socket: Duplex) => socket.destroy(),
    refused() {},
    failed,
  };
  // Several neighbours may share an address, and their number is the operator's.
  const servers = new NodeServers(handlers, { ...limits, connectionsPerClient: limits.connections });
  const address = await servers.open(options.address, { certificate, nextFree: false });
  return {
    address,
    changeCertificate: (changed) => servers.changeCertificate(changed),
    close: async () => {
      await servers.close(0);
    },
  };
}
