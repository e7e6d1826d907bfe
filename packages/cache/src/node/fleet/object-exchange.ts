/**
 * The exchange of objects with neighbours by the process that stores them: serves stored objects,
 * fetches objects for the proxy, and tells the node's summary what the store holds.
 *
 * ```
 *   store ──► SummaryFeed ──► FleetAccess.sink ──► the node's summary
 *   a miss of the proxy ──► NeighbourSource ──► FleetAccess.directory: a plan ──► neighbours
 *   peer port ──► PeerEntry ──► store, flights
 * ```
 *
 * The node's summary and its knowledge of neighbours are behind `FleetAccess`: in this process
 * (fleet-member.ts), or in the primary of several workers (`workers/fleet-channel.ts`).
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, type FleetKeyring, systemClock } from '@bloomery/transport';
import {
  certifiedNames,
  type FleetCertificates,
  RequestSigner,
  RequestVerifier,
} from '@bloomery/transport/http';
import { HotObjects } from '../../peers/decisions/hot-objects.ts';
import { OriginYields } from '../../peers/decisions/origin-yields.ts';
import { KeyedNeighbours } from '../../peers/keyed-neighbours.ts';
import { askWhether, type Truth } from '../../peers/looking/ask-whether.ts';
import type { FleetPicture } from '../../peers/looking/fleet-view.ts';
import type { KeyLook, LookedPeer } from '../../peers/looking/key-look.ts';
import { type AskTools, NeighbourAsk } from '../../peers/neighbour-ask.ts';
import type {
  KeyedHash,
  Neighbour,
  NeighbourDirectory,
  NeighbourPort,
  NeighbourReport,
} from '../../peers/neighbour-port.ts';
import { NeighbourSource, type NeighbourSourceOptions } from '../../peers/neighbour-source.ts';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import { PeerEntry, type PeerEntryOptions, type PeerEntryStatistics } from '../../peers/peer-entry.ts';
import type { PurgeReach } from '../../peers/purges/purge-exchange.ts';
import { RunningAsks } from '../../peers/running-asks.ts';
import type { SquidNeighbours } from '../../peers/squids/squid-neighbours.ts';
import { SummaryFeed, type SummarySink } from '../../peers/summary-feed.ts';
import { isPeerCopy, type PolicyOptions, shareableUntil } from '../../policy/index.ts';
import type { RequestHead } from '../../policy/message-head.ts';
import { hasSecretQuery } from '../../policy/secret-queries.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { ProxyFlights } from '../../proxy/flight/shared-response.ts';
import { OriginClient } from '../../proxy/origin/origin-client.ts';
import { OriginError } from '../../proxy/origin/origin-error.ts';
import type { SourcesBeforeOrigin } from '../../proxy/proxy-options.ts';
import type { ResponseSource } from '../../proxy/response-source.ts';
import { AddressGuard } from '../../safety/address-guard.ts';
import type { Limits } from '../../safety/limits.ts';
import type { ResponseStore } from '../../store/response-store.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { PeerConfig } from '../config/peer-config.ts';

/** The node as a member of its fleet, as seen by the process that stores objects. */
export interface FleetAccess {
  /** The name under which neighbours know the node. */
  readonly name: string;
  readonly keyring: FleetKeyring;
  /** The certificates for mutual TLS, or null if the secret alone says who a neighbour is. */
  readonly certificates: FleetCertificates | null;
  readonly directory: NeighbourDirectory;
  /** Takes what the store holds. */
  readonly sink: SummarySink;
  /**
   * The version of the node's summary under a secret, or null while it is unknown. If the node does
   * not know that secret, it is the version under the first one.
   */
  summary(keyId: number | null): SummaryVersion | null;
  /** The address of the peer port, or null if there is none. */
  readonly listen: ListenAddress | null;
  /** Responses that were stored before this time must be validated. */
  readonly validAfter: number;
  /** Purges a key of all neighbours, and waits for their confirmations, at most for a time. */
  purge(key: string, waitMs: number): Promise<PurgeReach>;
  /** A look at a key in the summaries of all neighbours, for people. */
  look(hashes: readonly KeyedHash[]): Promise<KeyLook>;
  /** The whole fleet, as all nodes tell it. */
  picture(): Promise<FleetPicture>;
  /** Resolves when the sink has passed everything on. */
  settled(): Promise<void>;
}

export interface ObjectExchangeOptions {
  readonly fleet: FleetAccess;
  readonly config: PeerConfig;
  readonly store: ResponseStore;
  readonly flights: ProxyFlights;
  readonly policy: () => PolicyOptions;
  readonly limits: Limits;
  /** The Squids of the node, which are asked beside the neighbours; null if there are none. */
  readonly squids: SquidNeighbours | null;
  /** Begins a fetch for a node of another group. It is used if this node is in a group. */
  readonly fetchForNode: NonNullable<PeerEntryOptions['fetch']>;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
}

export class ObjectExchange {
  readonly #feed: SummaryFeed;
  readonly #entry: PeerEntry;
  readonly #client: OriginClient;
  readonly #stopWatching: () => void;
  #isStarted = false;
  /** The sources of a fetch before its origin, for the proxy. */
  readonly sources: SourcesBeforeOrigin;
  /** One neighbour as the only source of an object. The response is stored as this node's own. */
  readonly sourceOf: (neighbour: Neighbour, request: RequestHead) => NeighbourSource;
  /** Whether a key may be named to a neighbour. */
  readonly mayName: (key: string) => boolean;
  /** A look at a key in the summaries of all neighbours, for people. */
  readonly look: (key: string) => Promise<KeyLook>;
  /** Asks a neighbour whether it has an object, and takes no body. No score changes. */
  readonly askWhether: (peer: LookedPeer, key: string) => Promise<Truth>;

  constructor(options: ObjectExchangeOptions) {
    const { fleet, config, store, flights, policy, limits, event, squids } = options;
    const clock = options.clock ?? systemClock;
    const { keyring, certificates } = fleet;
    const isCertified = certificates !== null;
    const until = (response: StoredResponse) => shareableUntil(response, { share: config.share });
    const mayShare = (response: StoredResponse) => (until(response) ?? 0) > clock.now();
    const mayName = (key: string) =>
      !hasSecretQuery(key) || config.share.some((prefix) => key.startsWith(prefix));
    const port = new KeyedNeighbours({
      directory: fleet.directory,
      keyring,
      mayName,
      mayShare,
      isBarren: (key) => flights.isBarren(key),
    });
    const running = new RunningAsks();
    const hot = new HotObjects<string>();
    this.#entry = new PeerEntry({
      store,
      flights,
      policy,
      clock,
      verifier: new RequestVerifier(keyring, clock, { id: fleet.name, isCertified }),
      mayShare,
      summary: (keyId) => fleet.summary(keyId),
      headTimeoutMs: limits.originHeadTimeoutMs,
      running,
      hot,
      fetch: config.group === null ? undefined : options.fetchForNode,
      problem: (problem) => event('error', 'peer-entry', { problem }),
    });
    this.#client = new OriginClient({
      limits,
      timers: clock,
      addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
      ...(certificates === null ? {} : { mutual: () => certificates.pem }),
      problem: (problem) => event('error', 'peer-client', { problem }),
    });
    const tools = {
      client: this.#client,
      signer: new RequestSigner(keyring, fleet.name, clock),
      keyring,
      clock,
      isCertified,
      headTimeoutMs: limits.originHeadTimeoutMs,
      running,
      report: (report: NeighbourReport) => {
        if (report.kind === 'answered' && report.end === 'hit') hot.took();
        port.report(report);
      },
    };
    // Summary Cache keeps and publishes everything, wherever it came from.
    const fetching = {
      tools,
      newAsk: newAskOf(tools, squids),
      port: squids?.beside(port) ?? port,
      budgetMs: config.budgetMs,
      copies: config.mode === 'single',
      yields: config.group === null ? null : new OriginYields(),
    };
    this.sources = (request, _route, decision, origin, isForNode) =>
      decision.kind === 'fetch' && decision.shareable
        ? [new NeighbourSource({ ...fetching, request, origin, isWithinGroup: isForNode })]
        : [];
    this.sourceOf = (neighbour, request) =>
      new NeighbourSource({
        ...fetching,
        request,
        origin: NO_ORIGIN,
        port: onlyNeighbour(neighbour),
        budgetMs: ONLY_SOURCE_MS,
        copies: false,
        yields: null,
      });
    this.mayName = mayName;
    this.look = (key) => fleet.look(port.hashes(key));
    // These questions are kept apart from those of requests, so that no request waits for a
    // question that a person asks.
    const asking = { ...tools, running: new RunningAsks(), report: () => {} };
    this.askWhether = ({ id, address }, key) => {
      const known = id === null ? null : fleet.directory.find(id);
      const neighbour = known ?? { id, address, keyId: null };
      const question = { kind: 'stored', waitMs: 0, rest: null, isMiss: false } as const;
      return askWhether(
        clock,
        config.budgetMs,
        (listener) =>
          new NeighbourAsk(asking, neighbour, { method: 'GET', key, headers: [] }, question, listener),
      );
    };
    this.#feed = new SummaryFeed({
      store,
      hashes: (key) => port.hashes(key),
      // A copy is published by the neighbour that it came from.
      shareableUntil: (response) =>
        config.mode === 'single' && isPeerCopy(response) ? null : until(response),
      sink: fleet.sink,
      pause: async () => {
        await new Promise<void>((resolve) => void clock.after(0, resolve));
        await fleet.settled();
      },
      failed: (error) => event('error', 'summary-feed', { problem: error }),
    });
    const stopWatchingStore = store.watch((key, change) => {
      if (change !== 'removed') port.stored(key);
    });
    const stopWatchingFlights = flights.watch((flight) => port.fetched(flight));
    // The summary under a new secret is empty, and is told everything that is stored.
    let known = keyring.all;
    const stopWatchingKeys = keyring.watch(() => {
      const isNew = keyring.all.some((keys) => !known.includes(keys));
      known = keyring.all;
      if (isNew && this.#isStarted) void this.#feed.readAll();
    });
    const stopWatchingCertificates = certificates?.watch(() => this.#client.renewConnections());
    this.#stopWatching = () => {
      stopWatchingCertificates?.();
      stopWatchingKeys();
      stopWatchingStore();
      stopWatchingFlights();
    };
  }

  /** Begins to read the store. The summary is published from the beginning, and grows. */
  start(): void {
    this.#isStarted = true;
    void this.#feed.readAll();
  }

  /**
   * Answers a neighbour's question for an object. `names` are those in the neighbour's certificate.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    names: readonly string[] | null = certifiedNames(request.socket),
  ): void {
    this.#entry.handle(request, response, names);
  }

  get statistics(): PeerEntryStatistics {
    return this.#entry.statistics;
  }

  /** Tells the summary nothing more. */
  leave(): void {
    this.#stopWatching();
    this.#feed.close();
  }

  /** Ends running questions to neighbours. `leave` comes first. */
  close(): void {
    this.#client.close();
  }
}

/** Time for the head of an object from the only neighbour that is asked. No client waits for it. */
const ONLY_SOURCE_MS = 10_000;

/** The place of the origin in a fetch that must not ask it. */
const NO_ORIGIN: ResponseSource = {
  name: 'no origin',
  ask(_request, handler) {
    handler.onError(new OriginError('destination_unavailable', 'The origin is not asked'));
    return { abort() {}, fail() {}, pause() {}, resume() {} };
  },
};

/** A plan with one question. Its result says nothing about the neighbour's summary. */
function onlyNeighbour(neighbour: Neighbour): NeighbourPort {
  const question = { neighbour, headDeadlineMs: ONLY_SOURCE_MS, hedgeAfterMs: null };
  return {
    plan: (_request, again) => ({ asks: again === true ? [] : [question], afterwards: 'origin' }),
    askOwner: async () => null,
    find: () => null,
    report() {},
  };
}

/** A Squid is asked in its own way, and every other neighbour in that of the fleet. */
function newAskOf(tools: AskTools, squids: SquidNeighbours | null): NeighbourSourceOptions['newAsk'] {
  return (neighbour, request, ask, listener) =>
    squids?.newAsk(neighbour, request, listener) ??
    new NeighbourAsk(tools, neighbour, request, ask, listener);
}
