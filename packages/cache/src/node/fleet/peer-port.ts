/**
 * The port for neighbours: a server with the guards and limits of the node, for requests only. A
 * node without workers opens it, or the primary of several.
 *
 * With certificates for mutual TLS the port asks each client for one, and leaves the refusal to the
 * code that reads the request (`RequestVerifier`), so that a neighbour is told the reason. A
 * connection from before a change of the certificates ends with its next answer: the neighbour then
 * connects again, and TLS checks both certificates.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FleetCertificates } from '@bloomery/transport/http';
import type { Limits } from '../../safety/limits.ts';
import { closeAfter } from '../../safety/node-internals.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import { type Certificate, NodeServers } from '../listen/node-servers.ts';

export interface PeerPortOptions {
  readonly address: ListenAddress;
  /** The certificate of the node for its clients, if it has one. */
  readonly certificate: Certificate | null;
  /** The certificates for mutual TLS, which take its place. */
  readonly certificates: FleetCertificates | null;
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
  /** Takes another certificate of the node. It has no effect with mutual TLS. */
  changeCertificate(certificate: Certificate): void;
  /** Takes other limits of the whole node. Open connections stay. */
  changeLimits(limits: Limits): void;
  /** Takes no more connections, and cuts the answers that still run at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

export async function openPeerPort(options: PeerPortOptions): Promise<PeerPort> {
  const { limits, certificate, certificates, name, handle, failed } = options;
  /** Connections that began with the certificates of now. */
  let current = new WeakSet<Socket>();
  const handlers = {
    name,
    secured: (socket: Socket) => void current.add(socket),
    request: (request: IncomingMessage, response: ServerResponse) => {
      if (certificates !== null && !current.has(request.socket)) closeAfter(response);
      handle(request, response);
    },
    connect: (_request: unknown, socket: Duplex) => socket.destroy(),
    refused() {},
    failed,
  };
  const own = { ...forNeighbours(limits) };
  const servers = new NodeServers(handlers, own);
  const mutual = () => certificates && { ...certificates.pem, ...MUTUAL };
  const address = await servers.open(options.address, {
    certificate: mutual() ?? certificate,
    nextFree: false,
  });
  const stopWatching = certificates?.watch(() => {
    current = new WeakSet();
    servers.changeCertificate(mutual()!);
  });
  return {
    address,
    changeCertificate: (changed) => {
      if (certificates === null) servers.changeCertificate(changed);
    },
    changeLimits: (changed) => {
      Object.assign(own, forNeighbours(changed));
      servers.applyLimits();
    },
    close: async (deadlineMs) => {
      stopWatching?.();
      await servers.close(deadlineMs);
    },
  };
}

const MUTUAL = { requestCert: true, rejectUnauthorized: false } as const;

/** Several neighbours may share an address, and their number is the operator's. */
function forNeighbours(limits: Limits): Limits {
  return { ...limits, connectionsPerClient: limits.connections };
}
