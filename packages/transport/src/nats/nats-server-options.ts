/**
 * The types of the adapter that its users see and that name parts of the NATS client. They do
 * without the client's own types, so that a program which does not install the client compiles.
 */

import type { TlsOptions } from '../http/peer-client.ts';

export interface NatsServerOptions {
  /** `nats://host:4222` or `tls://host:4222`; several servers of a cluster with commas. */
  readonly url: string;
  /** The contents of a .creds file (JWT and seed), or of a file with the seed of an nkey. */
  readonly credentials?: Uint8Array | undefined;
  /** Certificates for TLS. With them, a server without TLS is refused. */
  readonly tls?: TlsOptions | undefined;
}

/** The modules of the client, as `loadNatsClient` returns them. */
export interface LoadedNatsClient {
  readonly core: object;
  readonly kv: object;
}
