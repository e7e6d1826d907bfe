/**
 * The settings of Node's HTTP server that follow from the limits, in one place: which ones there are is easily forgotten,
 * and several defaults are wrong for a proxy that untrusted clients talk to.
 *
 * Measured on Node 20.20:
 * - `maxHeadersCount` does not refuse: fields beyond it are dropped without a word (by default, of 2100 fields 1023 came; they are
 *   gathered by 31, so somewhat more than the number may come). A dropped `Cache-Control: no-store` or `Authorization`
 *   is a leak, so it is set one above the limit, and the guard refuses.
 * - `requireHostHeader` answers by itself, without a word and without telling anybody; the guard refuses instead.
 * - `headersTimeout` and `requestTimeout` are looked at only every `connectionsCheckingInterval` (30 s by default).
 * - a connection that never sends a byte falls under `headersTimeout` as well.
 * - `joinDuplicateHeaders` changes only `req.headers`, at which nobody here looks.
 */

import type { Server, ServerOptions } from 'node:http';
import type { Limits } from './limits.ts';

/** For `http.createServer` and `https.createServer`. */
export function serverOptions(limits: Limits): ServerOptions {
  return {
    insecureHTTPParser: false,
    requireHostHeader: false,
    // The parser counts names, values and the target. Something above the limit, so that the guard answers in words.
    maxHeaderSize: limits.headBytes + 1024,
    headersTimeout: limits.headTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: withSlack(limits.idleTimeoutMs),
    connectionsCheckingInterval: Math.min(Math.max(Math.ceil(limits.headTimeoutMs / 4), 20), 5000),
    noDelay: true,
    // Finds clients that went without a word while a tunnel or a slow download is silent.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
  };
}

/**
 * Node tells clients whole seconds (`Keep-Alive: timeout=60`), and many use a connection to the last moment: then a request meets the end of the connection on
 * the way, and the client sees it closed without an answer. Node keeps it open for a second more than it says; a client on a busy machine is later
 * than that now and then, so here it is nearly two.
 */
function withSlack(ms: number): number {
  return ms < 1000 ? ms : Math.floor(ms / 1000) * 1000 + 999;
}

/** What can only be set on the server itself. */
export function applyServerSettings(server: Server, limits: Limits): void {
  // One more than is accepted: the guard must see that there are too many. 0 would mean no limit at all.
  server.maxHeadersCount = limits.headerCount + 1;
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  // Neither reads nor writes for so long: a client that takes nothing. Longer than any wait for an origin, during which
  // a client rightly hears nothing.
  server.setTimeout(
    Math.max(
      limits.clientStallMs,
      limits.flightWaitMs + limits.originConnectTimeoutMs + limits.originHeadTimeoutMs + 1000,
      limits.originIdleTimeoutMs + 1000,
    ),
  );
}
