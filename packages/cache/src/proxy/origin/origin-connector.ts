/**
 * Opens connections to origins. Requests of untrusted clients go through the address guard (`safety/guarded-connect.ts`), which checks the
 * host as it is written, what it resolves to and what was connected to, so that a rebinding name server gains nothing.
 *
 * Origins that the operator wrote into the configuration are trusted and not checked: a reverse proxy usually stands before
 * private addresses, which is exactly what the guard forbids to untrusted clients.
 *
 * TLS certificates are always verified; there is no switch to turn that off, only authorities to add.
 */

import type { Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { buildConnector } from 'undici';
import type { AddressGuard } from '../../safety/address-guard.ts';
import { guardedConnector } from '../../safety/guarded-connect.ts';

export interface ConnectorOptions {
  /** null: trusted, no check. */
  readonly addresses: AddressGuard | null;
  readonly timeoutMs: number;
  readonly certificates?: readonly string[] | undefined;
  /** Called for each connected socket, before the HTTP client listens to it. */
  readonly opened: (socket: Socket) => void;
}

export function originConnector(options: ConnectorOptions): buildConnector.connector {
  const settings = {
    timeout: options.timeoutMs,
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
