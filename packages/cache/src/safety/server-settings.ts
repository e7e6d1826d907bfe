/**
 * The settings of Node's HTTP server that follow from the limits, in one place. They are easily
 * forgotten, and several defaults are wrong for a proxy with untrusted clients.
 *
 * Measured on Node 20.20:
 * - `maxHeadersCount` does not refuse: fields beyond it are silently dropped (by default, 1023 of
 *   2100 fields arrived; they are collected in batches of 31, so slightly more than the number may
 *   arrive). A dropped `Cache-Control: no-store` or `Authorization` is a leak, so it is set one
 *   above the limit, and the guard refuses.
 * - `requireHostHeader` answers by itself, without a message and without an event; the guard
 *   refuses instead.
 * - `headersTimeout` and `requestTimeout` are checked only every `connectionsCheckingInterval` (30
 *   s by default).
 * - A connection that never sends a byte is also subject to `headersTimeout`.
 * - `joinDuplicateHeaders` changes only `req.headers`, which is not used here.
 */

import type { Server, ServerOptions } from 'node:http';
import type { Limits } from './limits.ts';

/** Options for `http.createServer` and `https.createServer`. */
export function serverOptions(limits: Limits): ServerOptions & { maxHeaderSize: number } {
  return {
    insecureHTTPParser: false,
    requireHostHeader: false,
    // The parser counts names, values and the target. Slightly above the limit, so that the guard
    // can answer with a message.
    maxHeaderSize: limits.headBytes + 1024,
    headersTimeout: limits.headTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: withSlack(limits.idleTimeoutMs),
    connectionsCheckingInterval: Math.min(Math.max(Math.ceil(limits.headTimeoutMs / 4), 20), 5000),
    noDelay: true,
    // Detects clients that disappeared without closing while a tunnel or a slow download is silent.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
  };
}

/**
 * Node tells clients a timeout in whole seconds (`Keep-Alive: timeout=60`), and many clients use a
 * connection until the last moment. Then a request can cross the closing of the connection, and the
 * client sees it closed without an answer. Node keeps the connection open for one second more than
 * it says. A client on a busy machine is sometimes later than that, so here it is nearly two
 * seconds.
 */
function withSlack(ms: number): number {
  return ms < 1000 ? ms : Math.floor(ms / 1000) * 1000 + 999;
}

/** Settings that exist only on the server object. */
export function applyServerSettings(server: Server, limits: Limits): void {
  // One more than is accepted, so that the guard sees that there are too many. 0 would mean no
  // limit at all.
  server.maxHeadersCount = limits.headerCount + 1;
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  // Closes connections without reads and writes for this long, whose client accepts no data. It is
  // longer than any wait for an origin, during which the client rightly receives nothing.
  server.setTimeout(
    Math.max(
      limits.clientStallMs,
      limits.flightWaitMs + limits.originConnectTimeoutMs + limits.originHeadTimeoutMs + 1000,
      limits.originIdleTimeoutMs + 1000,
    ),
  );
}
