/**
 * Opens connections to origins. Requests of untrusted clients go through the address guard
 * (`safety/guarded-connect.ts`), which checks the host as written, the addresses that it resolves
 * to and the connected address, so that DNS rebinding has no effect.
 *
 * Origins in the operator's configuration are trusted and not checked: a reverse proxy usually
 * serves private addresses, which the guard forbids to untrusted clients.
 *
 * TLS certificates are always verified. There is no switch to turn that off; authorities can only
 * be added.
 */

import type { Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { buildConnector } from 'undici';
import type { AddressGuard } from '../../safety/address-guard.ts';
import { guardedConnector } from '../../safety/guarded-connect.ts';

export interface MutualTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface ConnectorOptions {
  /** The guard, or null for trusted origins, which are not checked. */
  readonly addresses: AddressGuard | null;
  readonly timeoutMs: number;
  readonly certificates?: readonly string[] | undefined;
  /** This node's certificate and key, and the only authorities that count, all in PEM. */
  readonly mutual?: MutualTls | undefined;
  /** Called for each connected socket, before the HTTP client listens to it. */
  readonly opened: (socket: Socket) => void;
}

export function originConnector(options: ConnectorOptions): buildConnector.connector {
  const settings = {
    timeout: options.timeoutMs,
    ...options.mutual,
    ...(options.certificates === undefined ? {} : { ca: [...rootCertificates, ...options.certificates] }),
  } as buildConnector.BuildOptions & { timeout: number };
  const connect =
    options.addresses === null ? buildConnector(settings) : guardedConnector(options.addresses, settings);
  return (target, callback) =>
    connect(target, (...result) => {
      if (result[0] === null) options.opened(result[1]);
      callback(...result);
    });
}
