/**
 * The admin endpoints of a running node, and the port of their own that they have if the settings
 * name one (`--admin-listen`). Without it, they are answered on the ports for clients.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ClientGuard } from '../../safety/client-guard.ts';
import type { Limits } from '../../safety/limits.ts';
import { cutConnection } from '../../safety/node-internals.ts';
import { sendOwnAnswer } from '../../safety/own-answer.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { type Certificate, NodeServers } from '../listen/node-servers.ts';
import type { Log } from '../log/log.ts';
import { type AdminEndpointsOptions, answerAdminRequest } from './admin-endpoints.ts';

/** The node, as the admin endpoints ask it. */
export interface AdminPortOptions extends Omit<AdminEndpointsOptions, 'allows' | 'hosts' | 'servesOthers'> {
  /** The token of a node whose operator set none. */
  readonly drawnToken: string;
  readonly name: () => string;
  readonly log: Log;
  /** The limits, which a reload changes in place. */
  readonly limits: Limits;
}

export class AdminPort {
  readonly #options: AdminPortOptions;
  #endpoints!: AdminEndpointsOptions;
  #server: NodeServers | null = null;
  /** The address of the port, or null if the endpoints have none of their own. */
  listen: ListenAddress | null = null;

  constructor(options: AdminPortOptions) {
    this.#options = options;
  }

  /** Takes the clients and hosts of a configuration. */
  configure({ adminClients, adminHosts, adminListen, adminToken, upstreams }: NodeConfig): void {
    const admins = new ClientGuard({ allow: adminClients });
    const { name: _name, log: _log, limits: _limits, drawnToken, ...endpoints } = this.#options;
    endpoints.token.use(adminToken?.text ?? drawnToken, adminToken !== null);
    this.#endpoints = {
      allows: (address) => admins.allows(address),
      hosts: adminHosts,
      servesOthers: upstreams.length > 0 && adminListen === null,
      ...endpoints,
    };
  }

  async open(address: ListenAddress, certificate: Certificate | null): Promise<ListenAddress> {
    const { name, log, limits } = this.#options;
    this.#server = new NodeServers(
      {
        name,
        request: (request, response, client) => this.answer(request, response, client),
        connect: (_request, socket) => void socket.destroy(),
        refused() {},
        failed: (error) => log.event('error', 'accept-failed', { problem: error }),
      },
      limits,
    );
    this.listen = await this.#server.open(address, { certificate, nextFree: false });
    return this.listen;
  }

  answer(request: IncomingMessage, response: ServerResponse, client: string): void {
    const { log, name } = this.#options;
    answerAdminRequest(request, response, client, this.#endpoints).catch((error) => {
      log.event('error', 'own-path', { path: request.url, problem: error });
      if (response.headersSent) cutConnection(response);
      else {
        const failure = { status: 503, code: 'proxy_internal_error', message: (error as Error).message };
        sendOwnAnswer(response, name(), failure, false);
      }
    });
  }

  applyLimits(): void {
    this.#server?.applyLimits();
  }

  changeCertificate(certificate: Certificate): void {
    this.#server?.changeCertificate(certificate);
  }

  /** Cuts all connections. */
  async close(): Promise<void> {
    await this.#server?.close(0);
  }
}
