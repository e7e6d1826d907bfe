/**
 * The NATS client of the project itself, `@nats-io/transport-node` and `@nats-io/kv`, which are
 * optional and loaded when a node asks for NATS. With all that they need they are 2 MB, Apache-2.0
 * and one package in the public domain. Version 3.3 runs on Node 18 and later. Version 3.4 asks for
 * Node 22 through one of its parts.
 *
 * Everything else in this folder sees a server through `Wire` alone.
 */

import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { Cancel } from '../clock.ts';
import type { TlsOptions } from '../http/peer-client.ts';
import type { TransportTraffic } from '../link/transport-traffic.ts';
import type { NatsLimits } from './nats-limits.ts';
import type { LoadedNatsClient, NatsServerOptions } from './nats-server-options.ts';
import { parseNatsUrl } from './nats-url.ts';

export interface NatsClient extends LoadedNatsClient {
  readonly core: typeof import('@nats-io/transport-node');
  readonly kv: typeof import('@nats-io/kv');
}

/** A message of the server. `isStatus` is true for "no responders". */
export interface WireMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly isStatus: boolean;
}

/** One connection to the server, until it breaks. */
export interface Wire {
  readonly maxPayload: number;
  readonly hasJetStream: boolean;
  readonly connection: NatsConnection;
  /** Messages of this connection so far, and the bytes in them. */
  traffic(): TransportTraffic;
  publish(subject: string, data: Uint8Array, reply?: string): void;
  subscribe(subject: string, take: (message: WireMessage) => void): Cancel;
  /** Waits until the server has handled all that was sent. Rejects if the connection ends. */
  flush(): Promise<void>;
}

/** Connects once. Rejects with the error of the client, which names no password. */
export async function connectOnce(
  { core }: NatsClient,
  server: NatsServerOptions,
  { name, limits }: { readonly name: string; readonly limits: NatsLimits },
): Promise<Wire> {
  const { servers, isTls, user, password, token } = parseNatsUrl(server.url);
  const isSecured = isTls || server.tls !== undefined;
  const connection = await core.connect({
    servers: [...servers],
    name,
    // This adapter connects again by itself, so that it knows at once when the server is gone.
    reconnect: false,
    noEcho: true,
    noAsyncTraces: true,
    timeout: limits.connectMs,
    pingInterval: limits.pingMs,
    maxPingOut: 2,
    ...(user === null ? {} : { user, pass: password ?? '' }),
    ...(token === null ? {} : { token }),
    ...(server.credentials === undefined ? {} : { authenticator: authenticator(core, server.credentials) }),
    ...(isSecured ? { tls: tlsOf(servers, server.tls) } : {}),
  });
  return {
    maxPayload: connection.info?.max_payload ?? 0,
    hasJetStream: connection.info?.jetstream === true,
    connection,
    traffic: () => {
      const { outMsgs, outBytes, inMsgs, inBytes } = connection.stats();
      return {
        messagesSent: outMsgs,
        bytesSent: outBytes,
        messagesReceived: inMsgs,
        bytesReceived: inBytes,
      };
    },
    publish: (subject, data, reply) =>
      connection.publish(subject, data, reply === undefined ? undefined : { reply }),
    subscribe: (subject, take) => {
      const callback = (error: Error | null, message: Msg) => {
        if (error === null) take(wireMessage(message));
      };
      const subscription = connection.subscribe(subject, { callback });
      return () => subscription.unsubscribe();
    },
    flush: () => connection.flush(),
  };
}

/** A .creds file has a JWT in it; a seed of a user begins with SU. */
function authenticator(core: NatsClient['core'], credentials: Uint8Array) {
  const text = new TextDecoder().decode(credentials);
  return /^-+BEGIN NATS USER JWT/m.test(text)
    ? core.credsAuthenticator(credentials)
    : core.nkeyAuthenticator(new TextEncoder().encode(text.trim()));
}

/**
 * Checks that a certificate is for one of the servers. The client gives no name for a server whose
 * address is a number, and Node would then compare the certificate with "localhost".
 */
function isForOneOf(servers: readonly string[]) {
  const names = servers.map((server) => server.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
  return (_host: string, certificate: PeerCertificate): Error | undefined => {
    const problems = names.map((name) => checkServerIdentity(name, certificate));
    return problems.includes(undefined) ? undefined : problems[0];
  };
}

/** The client hands all of it to Node's TLS, but its types name the certificates alone. */
function tlsOf(servers: readonly string[], { ca, cert, key }: TlsOptions = {}): object {
  const text = (pem: string | Buffer | undefined) => (pem === undefined ? undefined : `${pem}`);
  const given = Object.entries({ ca: text(ca), cert: text(cert), key: text(key) });
  return {
    ...Object.fromEntries(given.filter(([, pem]) => pem !== undefined)),
    checkServerIdentity: isForOneOf(servers),
  };
}

function wireMessage({ subject, data, headers }: Msg): WireMessage {
  return { subject, data, isStatus: headers !== undefined && headers.code !== 0 };
}
