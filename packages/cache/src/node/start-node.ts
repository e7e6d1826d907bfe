/**
 * Starts a cache: builds store, guards, proxy and servers from the configuration, and shuts them
 * down again without losing anything.
 *
 * At the start, every step that can fail because of the operator's configuration (files, ports)
 * comes before the first request is answered. At the end, no new requests are accepted, running
 * ones finish, then the store writes its remaining data, then the logs are closed. `reload` builds
 * a new proxy over the same store. Running requests end under the old rules, and settings that need
 * a restart are reported and left unchanged.
 *
 * The node runs alone or as one of several workers (`team`). A worker passes requests for keys of
 * other workers to their owners, and receives theirs over a Unix socket.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { FleetKeyring } from '@bloomery/transport';
import type { SquidsReport } from '../peers/peer-report.ts';
import { DIGEST_PATH } from '../peers/squids/digest-answer.ts';
import type { CacheProxy } from '../proxy/cache-proxy.ts';
import { DigestBook } from '../proxy/digests/digest-book.ts';
import { Flights } from '../proxy/flight/flights.ts';
import { ClientGuard } from '../safety/client-guard.ts';
import type { Limits } from '../safety/limits.ts';
import { checkNodeInternals, closeAfter, cutConnection } from '../safety/node-internals.ts';
import { sendOwnAnswer } from '../safety/own-answer.ts';
import { type AbortOptions, abortable } from '../store/abortable.ts';
import type { ResponseStore } from '../store/response-store.ts';
import { type AdminEndpointsOptions, answerAdminRequest, isAdminPath } from './admin/admin-endpoints.ts';
import { purgeKey } from './admin/purge-key.ts';
import {
  cooperationOf,
  type MemberReport,
  type NodeStatus,
  squidsOf,
  statusOf,
  type TeamReport,
  totalOf,
} from './admin/status.ts';
import type { CacheNode, FleetPurge, StartOptions } from './cache-node.ts';
import { formatListen, type ListenAddress } from './config/listen-address.ts';
import { metadataOriginMap } from './config/metadata-origin.ts';
import type { NodeConfig } from './config/node-config.ts';
import { readPeerSecrets } from './config/peer-secret.ts';
import { settingsForRestart, withoutRestart } from './config/reload-rules.ts';
import { FleetMember, natsClientFor } from './fleet/fleet-member.ts';
import { ObjectExchange } from './fleet/object-exchange.ts';
import { openPeerPort, type PeerPort } from './fleet/peer-port.ts';
import { purgeMemory } from './fleet/purge-file.ts';
import { SquidClient } from './fleet/squid-client.ts';
import { SquidService } from './fleet/squid-service.ts';
import { keepTick } from './kept-tick.ts';
import { type Certificate, NodeServers, readCertificate } from './listen/node-servers.ts';
import { Log } from './log/log.ts';
import { renderMetrics } from './metrics/metrics-text.ts';
import { ProcessWatch } from './metrics/process-watch.ts';
import { randomName } from './node-name.ts';
import { NodeObserver } from './node-observer.ts';
import { openNodeStore } from './node-store.ts';
import { makeProxies, type NodeFlights, type ProxySet } from './proxy-set.ts';
import { VERSION } from './version.ts';
import { FROM_NEIGHBOUR, FROM_WORKER, Relay, RelayServer } from './workers/relay.ts';
import { ownerOf, type Team } from './workers/team.ts';

export type { CacheNode, FleetPurge, ListenPlaces, StartOptions } from './cache-node.ts';

export async function startNode(config: NodeConfig, options: StartOptions = {}): Promise<CacheNode> {
  const { team, signal } = options;
  signal?.throwIfAborted();
  const log =
    options.log ??
    new Log({
      level: config.logLevel,
      format: config.logFormat,
      ...(team === undefined ? {} : { fields: { worker: team.index } }),
    });
  const node = new RunningNode(config, log, options.clock ?? Date.now, team ?? null);
  try {
    await node.start(options);
  } catch (error) {
    await node.close(0);
    throw error;
  }
  return node;
}

class RunningNode implements CacheNode {
  readonly log: Log;
  readonly #clock: () => number;
  readonly #team: Team | null;
  readonly #relay: Relay | null;
  readonly #observer: NodeObserver;
  readonly #watch = new ProcessWatch();
  readonly #servers: NodeServers;
  /** Shared with the guards; `reload` changes it in place. */
  readonly #limits: { -readonly [name in keyof Limits]: number };
  #config: NodeConfig;
  #open: Awaited<ReturnType<typeof openNodeStore>> | null = null;
  #proxies!: ProxySet;
  readonly #flights: NodeFlights;
  readonly #digests = new DigestBook();
  readonly #validAfter = () => (this.#member ?? this.#team?.fleet)?.validAfter ?? 0;
  /** The name for a configuration that has none. */
  #chosenName = '';
  /** Proxies of earlier configurations that still have running requests. */
  readonly #retired = new Map<ProxySet, NodeJS.Timeout>();
  /** Kept separately for the hot path. */
  #proxy!: CacheProxy;
  #adminEndpoints!: AdminEndpointsOptions;
  #adminServer: NodeServers | null = null;
  #relayServer: RelayServer | null = null;
  /** This node in its fleet; null if it has no neighbours, or if its primary has them. */
  #member: FleetMember | null = null;
  #exchange: ObjectExchange | null = null;
  #peerPort: PeerPort | null = null;
  /** This node as a sibling of Squids; null if it serves none. */
  #squidService: SquidService | null = null;
  /** The Squids that this node asks; null if there are none. */
  #squidClient: SquidClient | null = null;
  #isReady = false;
  #stopping = false;
  #closing: Promise<void> | null = null;
  listen: readonly ListenAddress[] = [];
  adminListen: ListenAddress | null = null;

  constructor(config: NodeConfig, log: Log, clock: () => number, team: Team | null) {
    this.#config = config;
    this.log = log;
    this.#clock = clock;
    this.#observer = new NodeObserver(log, clock);
    this.#team = team;
    const name = () => this.name;
    this.#relay = team === null ? null : new Relay(team, name);
    this.#limits = { ...limitsOf(config, team) };
    this.#flights = { own: new Flights(clock), passing: new Flights(clock) };
    this.#servers = new NodeServers(
      {
        name,
        resetsUnread: () => this.#config.squids?.digestBits != null,
        request: (request, response, client) => this.#request(request, response, client),
        connect: (request, socket, head, client) => this.#proxy.connect(request, socket, head, client),
        refused: (why, from) => this.#observer.refused(why, from),
        failed: (error) => this.log.event('error', 'accept-failed', { problem: error }),
      },
      this.#limits,
    );
  }

  get name(): string {
    return this.#config.name ?? this.#chosenName;
  }

  get folder(): string | null {
    return this.#open?.folder ?? null;
  }

  get peerListen(): ListenAddress | null {
    return this.#peerPort?.address ?? this.#team?.fleet?.listen ?? null;
  }

  get store(): ResponseStore {
    if (this.#open === null) throw new Error('Cannot use the store: the node has not been started');
    return this.#open.store;
  }

  async start({ removeFirst = [], places, signal }: StartOptions): Promise<void> {
    const config = this.#config;
    const team = this.#team;
    keepTick();
    this.#observer.useAccessLog(config);
    this.#open = await openNodeStore(config, this.log, team, signal);
    this.#chosenName = this.#open.keptName ?? randomName();
    this.#limits.storedObjectBytes = this.#longestStored(config);
    for (const key of removeFirst) await this.#open.store.removeKey(key);
    this.#adminEndpoints = this.#makeAdminEndpoints(config);
    await this.#joinFleet(config);
    this.#serveSquids(config);
    this.#use(this.#makeProxies(config));
    if (team !== null) {
      this.#relayServer = new RelayServer((request, response, client) => {
        if (client === FROM_NEIGHBOUR) this.#exchange?.handle(request, response);
        else if (client === FROM_WORKER) this.#squidService?.handleWorker(request, response);
        else this.#proxy.handle(request, response, client);
      });
      await this.#relayServer.open(team.socketPath(team.index));
    }
    const place = places === undefined ? config : await abortable(places(), signal);
    this.#config = {
      ...config,
      listen: place.listen,
      adminListen: place.adminListen,
      listenDefaulted: place.listenDefaulted,
    };
    const certificate = readCertificate(config);
    if (place.adminListen !== null) {
      const handlers = {
        name: () => this.name,
        request: (request: IncomingMessage, response: ServerResponse, client: string) =>
          this.#answerAdmin(request, response, client),
        connect: (_request: unknown, socket: Duplex) => socket.destroy(),
        refused() {},
        failed: (error: Error) => this.log.event('error', 'accept-failed', { problem: error }),
      };
      this.#adminServer = new NodeServers(handlers, this.#limits);
      this.adminListen = await this.#adminServer.open(place.adminListen, {
        certificate,
        nextFree: false,
      });
      this.#proxies.listensOn(this.adminListen);
    }
    await this.#openPeerPort(config, certificate);
    for (const address of place.listen) {
      signal?.throwIfAborted();
      const opened = await this.#servers.open(address, { certificate, nextFree: place.listenDefaulted });
      this.listen = [...this.listen, opened];
      this.#proxies.listensOn(opened);
    }
    signal?.throwIfAborted();
    this.#exchange?.start();
    this.#squidService?.start();
    this.#squidClient?.start();
    this.#isReady = true;
    this.#warn(config);
    if (team === null || team.index === 0)
      for (const warning of checkNodeInternals()) this.log.event('warn', 'node', { warning });
    this.log.event('info', 'listening', {
      addresses: this.listen.map(formatListen),
      ...(this.adminListen === null ? {} : { admin: formatListen(this.adminListen) }),
      ...(this.peerListen === null ? {} : { peers: formatListen(this.peerListen) }),
      version: VERSION,
      pid: process.pid,
    });
  }

  async status({ signal }: AbortOptions = {}): Promise<NodeStatus> {
    const { forward, upstreams } = this.#config;
    return statusOf(await abortable(this.#reports(), signal), {
      name: this.name,
      version: VERSION,
      stopping: this.#stopping,
      listen: this.listen.map(formatListen),
      forward,
      upstreams: upstreams.map(({ prefix, origin }) => `${prefix}=${origin}`),
      now: Date.now(),
    });
  }

  async metrics({ signal }: AbortOptions = {}): Promise<string> {
    const report = await abortable(this.#reports(), signal);
    const total = totalOf(report);
    const facts = { name: this.name, version: VERSION };
    return renderMetrics(total, facts, cooperationOf(report, total), squidsOf(report));
  }

  report(): MemberReport {
    const { counters } = this.#observer;
    counters.connections = this.#servers.counter.open;
    counters.connectionsTotal = this.#servers.total;
    counters.connectionsRefused = this.#servers.counter.refused;
    counters.objectsServed = this.#exchange?.statistics.served ?? 0;
    counters.objectBytesServed = this.#exchange?.statistics.bytes ?? 0;
    counters.digests = this.#digests.counts;
    const snapshot = counters.snapshot(
      this.#open?.statistics() ?? {},
      this.#observer.dropped,
      this.#watch.facts(),
      this.#proxy.activity,
    );
    const squids = ownSquids(this.#squidService, this.#squidClient);
    return { worker: this.#team?.index ?? 0, pid: process.pid, at: Date.now(), snapshot, squids };
  }

  async purge(url: string, { signal }: AbortOptions = {}): Promise<number> {
    signal?.throwIfAborted();
    const key = purgeKey(url, this.#proxies.router);
    const owner = this.#ownerOf(key);
    const purged =
      owner === null ? await this.removeKey(key) : await (this.#team as Team).removeKey(owner, key);
    this.log.event('info', 'purged', { url: key, responses: purged });
    return purged;
  }

  async purgeFleet(url: string, options: AbortOptions = {}): Promise<FleetPurge> {
    const purged = await this.purge(url, options);
    const fleet = this.#member ?? this.#team?.fleet ?? null;
    if (fleet === null) return { purged, confirmed: [], waiting: [] };
    const reach = await abortable(
      fleet.purge(purgeKey(url, this.#proxies.router), PURGE_WAIT_MS),
      options.signal,
    );
    return { purged, ...reach };
  }

  async removeKey(key: string, options: AbortOptions = {}): Promise<number> {
    // This includes responses that are being fetched for the key.
    return this.#proxy.forget(key, options);
  }

  reload(config: NodeConfig): string[] {
    const needRestart = settingsForRestart(this.#config, config);
    // Settings that stay unchanged must also be recorded unchanged.
    const next = withoutRestart(this.#config, config);
    // Steps that can fail come first, so that a failure leaves everything unchanged.
    const certificate = readCertificate(next);
    const secrets =
      this.#member === null || next.peers === null ? null : readPeerSecrets(next.peers.secretFile);
    const proxies = this.#makeProxies(next);
    for (const address of [...this.listen, this.adminListen, this.peerListen])
      if (address !== null) proxies.listensOn(address);
    try {
      this.#observer.useAccessLog(next);
    } catch (error) {
      this.#letGo(proxies);
      throw error;
    }
    this.#config = next;
    Object.assign(this.#limits, limitsOf(config, this.#team), {
      storedObjectBytes: this.#longestStored(config),
    });
    this.log.change({ level: config.logLevel, format: config.logFormat });
    this.#servers.applyLimits();
    this.#adminServer?.applyLimits();
    this.#peerPort?.changeLimits(this.#limits as Limits);
    if (certificate !== null) {
      this.#servers.changeCertificate(certificate);
      this.#adminServer?.changeCertificate(certificate);
      this.#peerPort?.changeCertificate(certificate);
    }
    if (secrets !== null) this.#member?.keyring.change(secrets);
    if (next.peers !== null) this.#member?.changeMembers(next.peers);
    this.#adminEndpoints = this.#makeAdminEndpoints(next);
    // Running requests and tunnels continue under the rules that they began with.
    this.#retire(this.#proxies);
    this.#use(proxies);
    this.#warn(next);
    if (needRestart.length > 0) this.log.event('warn', 'needs-restart', { settings: needRestart });
    this.log.event('info', 'reloaded');
    return needRestart;
  }

  reopenLogs(): void {
    this.#observer.reopenAccessLog();
  }

  close(deadlineMs: number = this.#config.shutdownMs): Promise<void> {
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    const started = Date.now();
    if (this.listen.length > 0)
      this.log.event('info', 'stopping', { connections: this.#servers.counter.open, deadlineMs });
    // Neighbours are told first, so that they ask for nothing more.
    this.#exchange?.leave();
    this.#member?.drain();
    const { shutdownDelayMs } = this.#config;
    // Load balancers read `ready` meanwhile, and send new clients elsewhere.
    if (this.listen.length > 0 && shutdownDelayMs > 0 && deadlineMs > 0) await pause(shutdownDelayMs);
    const leftMs = () => Math.max(0, shutdownDelayMs + deadlineMs - (Date.now() - started));
    const cut = await this.#servers.close(Math.min(deadlineMs, leftMs()));
    await this.#member?.leave();
    await this.#peerPort?.close(leftMs());
    this.#exchange?.close();
    this.#member?.close();
    this.#squidService?.close();
    this.#squidClient?.close();
    if (this.#relayServer !== null) {
      // Other workers may still have requests for this one.
      await Promise.race([this.#team?.drained(), pause(leftMs(), undefined, { ref: false })]);
      await this.#relay?.close();
      await this.#relayServer.close(leftMs());
    }
    await this.#proxies?.close();
    for (const [proxies, timer] of this.#retired) {
      clearInterval(timer);
      await proxies.close();
    }
    await this.#adminServer?.close(0);
    try {
      await this.#open?.close();
    } finally {
      // Done even if closing the store fails.
      this.#watch.stop();
      await this.#observer.close();
    }
    if (this.listen.length > 0) this.log.event('info', 'stopped', { cut, ms: Date.now() - started });
  }

  // The hot path.

  #request(request: IncomingMessage, response: ServerResponse, client: string): void {
    const target = request.url as string;
    if (this.#stopping) closeAfter(response);
    if (isAdminPath(target) && this.adminListen === null) {
      this.#answerAdmin(request, response, client);
      return;
    }
    if (this.#squidService?.isDigest(target)) {
      this.#squidService.handle(request, response, client);
      return;
    }
    if (this.#team !== null) {
      const route = this.#proxies.router.route(target);
      const owner = 'key' in route ? this.#ownerOf(route.key) : null;
      if (owner !== null) {
        this.#observer.counters.relayed++;
        this.#relay?.send(request, response, { client, owner }, () =>
          this.#proxies.passing.handle(request, response, client),
        );
        return;
      }
    }
    this.#proxy.handle(request, response, client);
  }

  /** The worker that owns the key, or null if it is this process. */
  #ownerOf(key: string): number | null {
    const team = this.#team;
    if (team === null) return null;
    const owner = ownerOf(key, team.size);
    return owner === team.index ? null : owner;
  }

  // Building the parts.

  #use(proxies: ProxySet): void {
    this.#proxies = proxies;
    this.#proxy = proxies.proxy;
  }

  /** Closes the proxies when they have no running requests any more. */
  #retire(proxies: ProxySet): void {
    const timer = setInterval(() => {
      if (!proxies.idle) return;
      clearInterval(timer);
      this.#retired.delete(proxies);
      this.#letGo(proxies);
    }, RETIRE_MS);
    timer.unref();
    this.#retired.set(proxies, timer);
  }

  #letGo(proxies: ProxySet): void {
    proxies.close().catch((error) => this.log.event('warn', 'proxy-not-closed', { problem: error }));
  }

  /** With workers, only the primary logs warnings, so each appears once. */
  #warn({ warnings }: NodeConfig): void {
    if (this.#team !== null) return;
    for (const warning of warnings) this.log.event('warn', 'configuration', { warning });
  }

  #makeProxies(config: NodeConfig): ProxySet {
    this.#digests.metadataOrigins = metadataOriginMap(config.metadataOrigins);
    return makeProxies(config, {
      name: config.name ?? this.#chosenName,
      store: this.store,
      limits: this.#limits as Limits,
      clock: this.#clock,
      observer: this.#observer,
      team: this.#team,
      flights: this.#flights,
      digests: this.#digests,
      validAfter: this.#validAfter,
      sourcesBeforeOrigin: this.#exchange?.sources ?? this.#squidClient?.sources,
    });
  }

  async #joinFleet({ peers, squids }: NodeConfig): Promise<void> {
    const event = this.log.event.bind(this.log);
    const policy = () => ({ name: this.name, ...this.#config.policy, validAfter: this.#validAfter });
    const limits = this.#limits as Limits;
    if (squids !== null && squids.addresses.length > 0) {
      const processes = this.#team?.size ?? 1;
      this.#squidClient = new SquidClient({ config: squids, processes, policy, limits, event });
    }
    if (peers === null) return;
    if (this.#team === null) {
      const keyring = new FleetKeyring(readPeerSecrets(peers.secretFile));
      this.#member = new FleetMember({
        config: peers,
        name: this.name,
        keyring,
        event,
        client: await natsClientFor(peers),
        purges: purgeMemory(this.folder),
        remove: (key) => this.removeKey(key),
      });
    }
    const fleet = this.#member ?? this.#team?.fleet ?? null;
    if (fleet === null) return;
    this.#exchange = new ObjectExchange({
      fleet,
      config: peers,
      store: this.store,
      flights: this.#flights.own,
      policy,
      limits,
      squids: this.#squidClient?.neighbours ?? null,
      event,
    });
  }

  #serveSquids({ squids }: NodeConfig): void {
    if (squids?.digestBits == null) return;
    const team = this.#team;
    const others = Array.from({ length: team?.size ?? 1 }, (_, worker) => worker).filter(
      (worker) => worker !== (team?.index ?? 0),
    );
    const keysOf = (worker: number, time: number): Promise<Uint8Array> =>
      this.#relay!.fetch(worker, `${DIGEST_PATH}?fresh=${time}`).catch(() => new Uint8Array());
    this.#squidService = new SquidService({
      digestBits: squids.digestBits,
      share: squids.share,
      store: this.store,
      name: () => this.name,
      allows: (client) => this.#proxies.allows(client),
      isOwn: (host, port) => this.listen.some((own) => own.port === port) && this.#proxies.isOwnHost(host),
      others: (time) => Promise.all(others.map((worker) => keysOf(worker, time))),
      event: this.log.event.bind(this.log),
    });
  }

  async #openPeerPort({ peers }: NodeConfig, certificate: Certificate | null): Promise<void> {
    const member = this.#member;
    if (member === null) {
      // With workers, the primary has opened it.
      if (this.peerListen !== null) this.#proxies.listensOn(this.peerListen);
      return;
    }
    if (peers?.listen == null) return;
    this.#peerPort = await openPeerPort({
      address: peers.listen,
      certificate,
      limits: this.#limits as Limits,
      name: () => this.name,
      handle: (request, response) => {
        if (!member.handle(request, response)) this.#exchange?.handle(request, response);
      },
      failed: (error) => this.log.event('error', 'accept-failed', { problem: error }),
    });
    member.listen = this.#peerPort.address;
    this.#proxies.listensOn(member.listen);
  }

  #longestStored({ limits }: NodeConfig): number {
    return Math.min(limits.storedObjectBytes, this.#open?.maxBodyBytes ?? Number.POSITIVE_INFINITY);
  }

  #makeAdminEndpoints(config: NodeConfig): AdminEndpointsOptions {
    const admins = new ClientGuard({ allow: config.adminClients });
    return {
      allows: (address) => admins.allows(address),
      hosts: config.adminHosts,
      stopping: () => this.#stopping,
      ready: () => this.#isReady && !this.#stopping,
      metrics: () => this.metrics(),
      status: () => this.status(),
      purge: (url) => this.purge(url),
      purgeFleet: (url) => this.purgeFleet(url),
    };
  }

  #answerAdmin(request: IncomingMessage, response: ServerResponse, client: string): void {
    answerAdminRequest(request, response, client, this.#adminEndpoints).catch((error) => {
      this.log.event('error', 'own-path', { path: request.url, problem: error });
      if (response.headersSent) cutConnection(response);
      else {
        const failure = { status: 503, code: 'proxy_internal_error', message: (error as Error).message };
        sendOwnAnswer(response, this.name, failure, false);
      }
    });
  }

  async #reports(): Promise<TeamReport> {
    if (this.#team === null)
      return { members: [this.report()], ended: null, fleet: this.#member?.report() ?? null };
    return this.#team.collect(() => this.report());
  }
}

function ownSquids(service: SquidService | null, client: SquidClient | null): SquidsReport | null {
  if (service === null && client === null) return null;
  return { served: service?.report ?? null, squids: client?.reports() ?? [] };
}

/** Connections are distributed evenly, so each worker has its share of the allowed number. */
function limitsOf({ limits }: NodeConfig, team: Team | null): Limits {
  const part = (all: number) => Math.ceil(all / (team?.size ?? 1));
  return {
    ...limits,
    connections: part(limits.connections),
    connectionsPerClient: part(limits.connectionsPerClient),
  };
}

const RETIRE_MS = 1000;
/** How long a purge waits for the confirmations of neighbours. */
const PURGE_WAIT_MS = 10_000;
