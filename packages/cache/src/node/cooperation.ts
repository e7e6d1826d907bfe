/**
 * Cooperation of a running node with its neighbours: builds the parts of `peers/` from the
 * configuration and connects them with the store, the proxy and the peer port.
 *
 * ```
 *   store ──► SummaryFeed ──► OwnSummary ──► transport ──► neighbours
 *   neighbours ──► transport ──► PeerHub ──► plan of a miss ──► NeighbourSource ──► proxy
 *   peer port ──► transport (summaries, owners) or PeerEntry (objects)
 * ```
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, fleetKeys, systemClock } from '@bloomery/transport';
import { HttpTransport, RequestSigner, RequestVerifier } from '@bloomery/transport/http';
import { KeyedNeighbours } from '../peers/keyed-neighbours.ts';
import type { NeighbourReport } from '../peers/neighbour-port.ts';
import { NeighbourSource } from '../peers/neighbour-source.ts';
import { OwnSummary } from '../peers/own-summary.ts';
import { PeerEntry } from '../peers/peer-entry.ts';
import { PeerHub } from '../peers/peer-hub.ts';
import type { CooperationReport } from '../peers/peer-report.ts';
import { RunningAsks } from '../peers/running-asks.ts';
import { SummaryFeed } from '../peers/summary-feed.ts';
import { isPeerCopy, type PolicyOptions, shareableUntil } from '../policy/index.ts';
import { hasSecretQuery } from '../policy/secret-queries.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import type { ProxyFlights } from '../proxy/flight/shared-response.ts';
import { OriginClient } from '../proxy/origin/origin-client.ts';
import type { SourcesBeforeOrigin } from '../proxy/proxy-options.ts';
import { AddressGuard } from '../safety/address-guard.ts';
import type { Limits } from '../safety/limits.ts';
import type { ResponseStore } from '../store/response-store.ts';
import { formatListen, type ListenAddress } from './config/listen-address.ts';
import type { PeerConfig } from './config/peer-config.ts';

export interface CooperationParts {
  readonly config: PeerConfig;
  /** The name of the node, unique in the fleet. */
  readonly name: string;
  readonly secret: Uint8Array;
  readonly store: ResponseStore;
  readonly flights: ProxyFlights;
  readonly policy: () => PolicyOptions;
  readonly limits: Limits;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
}

export class Cooperation {
  readonly #parts: CooperationParts;
  readonly #transport: HttpTransport;
  readonly #hub: PeerHub;
  readonly #own: OwnSummary;
  readonly #feed: SummaryFeed;
  readonly #entry: PeerEntry;
  readonly #client: OriginClient;
  readonly #stopWatching: () => void;
  /** The address of the peer port, once it is open. */
  listen: ListenAddress | null = null;
  /** The sources of a fetch before its origin, for the proxy. */
  readonly sources: SourcesBeforeOrigin;

  constructor(parts: CooperationParts) {
    const { config, name, secret, store, flights, policy, limits, event } = parts;
    const clock = parts.clock ?? systemClock;
    const keys = fleetKeys(secret);
    this.#parts = parts;
    this.#transport = new HttpTransport({ id: name, secret, peers: config.peers, clock });
    this.#hub = new PeerHub({
      transport: this.#transport,
      clock,
      keys,
      budgetMs: config.budgetMs,
      memoryBytes: config.memoryBytes,
      event,
    });
    this.#own = new OwnSummary({
      transport: this.#transport,
      clock,
      keyId: keys.summaryKeyId,
      scheme: keys.summary.scheme,
      neighbours: config.peers.length,
      bandwidth: config.bandwidth,
      work: this.#hub.work,
      event,
    });
    const port = new KeyedNeighbours({
      directory: this.#hub,
      summaryKey: keys.summary,
      mayName: (key) => !hasSecretQuery(key) || config.share.some((prefix) => key.startsWith(prefix)),
    });
    const running = new RunningAsks();
    const until = (response: StoredResponse) => shareableUntil(response, { share: config.share });
    this.#entry = new PeerEntry({
      store,
      flights,
      policy,
      clock,
      verifier: new RequestVerifier(secret, clock),
      responseKey: keys.response,
      mayShare: (response) => (until(response) ?? 0) > clock.now(),
      summary: () => this.#own.version,
      running,
      problem: (problem) => event('error', 'peer-entry', { problem }),
    });
    this.#client = new OriginClient({
      limits,
      addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
      problem: (problem) => event('error', 'peer-client', { problem }),
    });
    const tools = {
      client: this.#client,
      signer: new RequestSigner(secret, name, clock),
      responseKey: keys.response,
      clock,
      running,
      report: (report: NeighbourReport) => port.report(report),
    };
    // Summary Cache keeps and publishes everything, wherever it came from.
    const fetching = { tools, port, budgetMs: config.budgetMs, copies: config.mode === 'single' };
    this.sources = (request, _route, decision, origin) =>
      decision.kind === 'fetch' && decision.shareable
        ? [new NeighbourSource({ ...fetching, request, origin })]
        : [];
    this.#feed = new SummaryFeed({
      store,
      hash: (key) => port.hash(key),
      // A copy is published by the neighbour that it came from.
      shareableUntil: (response) =>
        config.mode === 'single' && isPeerCopy(response) ? null : until(response),
      sink: this.#own,
      pause: () => new Promise((resolve) => void clock.after(0, resolve)),
      failed: (error) => event('error', 'summary-feed', { problem: error }),
    });
    this.#stopWatching = store.watch((key, change) => {
      if (change !== 'removed') port.stored(key);
    });
  }

  /** Begins to read the store. The summary is published from the beginning, and grows. */
  start(): void {
    void this.#feed.readAll();
  }

  /** Answers a request on the peer port. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#transport.handle(request, response)) this.#entry.handle(request, response);
  }

  report(): CooperationReport {
    const { served, bytes } = this.#entry.statistics;
    return {
      own: {
        id: this.#parts.name,
        listen: this.listen === null ? [] : [formatListen(this.listen)],
        objects: this.#own.objects,
        generation: `${this.#own.version.epoch}.${this.#own.version.sequence}`,
        updates: this.#own.updates,
        bytesPublished: this.#own.bytes,
        objectsServed: served,
        bytesServed: bytes,
        memoryBytes: this.#hub.summaryMemoryBytes,
        memoryLimitBytes: this.#parts.config.memoryBytes,
      },
      peers: this.#hub.peerReports(),
    };
  }

  /** Closes the links, so that neighbours ask this node for nothing more. */
  async leave(): Promise<void> {
    this.#stopWatching();
    this.#feed.close();
    this.#own.close();
    await this.#transport.close();
  }

  /** Ends running questions to neighbours. `leave` comes first. */
  close(): void {
    this.#hub.close();
    this.#client.close();
  }
}
