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

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { totalsOf } from '../peers/peer-report.ts';
import { secondsLeft } from '../policy/freshness.ts';
import { DigestBook } from '../proxy/digests/digest-book.ts';
import { Flights } from '../proxy/flight/flights.ts';
import type { Limits } from '../safety/limits.ts';
import { checkNodeInternals, closeAfter } from '../safety/node-internals.ts';
import { type AbortOptions, abortable } from '../store/abortable.ts';
import type { ResponseStore } from '../store/response-store.ts';
import { isAdminPath } from './admin/admin-endpoints.ts';
import { AdminPort } from './admin/admin-port.ts';
import { AdminToken, drawToken } from './admin/admin-token.ts';
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
import { settingsForRestart, withoutRestart } from './config/reload-rules.ts';
import { AnswerBook, busiestOf } from './console/answer-book.ts';
import { AnswerRecorder } from './console/answer-recorder.ts';
import type { ConsolePart } from './console/console-part.ts';
import { lookAt } from './console/counts.ts';
import { CONSOLE_ENDPOINTS, NodeConsole } from './console/node-console.ts';
import { type LookAtCounts, NodeHistory } from './console/node-history.ts';
import type { Who } from './console/who.ts';
import { CurrentProxies } from './current-proxies.ts';
import { NodeNeighbours } from './fleet/node-neighbours.ts';
import { keepTick } from './kept-tick.ts';
import { NodeServers, readCertificate } from './listen/node-servers.ts';
import { Log } from './log/log.ts';
import { publicUrl } from './log/log-privacy.ts';
import { renderMetrics } from './metrics/metrics-text.ts';
import { ProcessWatch } from './metrics/process-watch.ts';
import { randomName } from './node-name.ts';
import { NodeObserver } from './node-observer.ts';
import { openNodeStore } from './node-store.ts';
import { makeProxies, type NodeFlights, type ProxySet } from './proxy-set.ts';
import { VERSION } from './version.ts';
import { Relay, RelayServer } from './workers/relay.ts';
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
  const node = new RunningNode(config, log, options.clock ?? Date.now, team ?? null, options);
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
  readonly #recorder: AnswerRecorder;
  /** The answers of this node; with workers, the primary has the book. */
  readonly #book = new AnswerBook();
  readonly #watch = new ProcessWatch();
  readonly #servers: NodeServers;
  /** Shared with the guards; `reload` changes it in place. */
  readonly #limits: { -readonly [name in keyof Limits]: number };
  #config: NodeConfig;
  #open: Awaited<ReturnType<typeof openNodeStore>> | null = null;
  readonly #proxies: CurrentProxies;
  readonly #flights: NodeFlights;
  readonly #digests = new DigestBook();
  readonly #neighbours: NodeNeighbours;
  readonly #validAfter = () => this.#neighbours.validAfter;
  /** The name for a configuration that has none. */
  #chosenName = '';
  readonly #token: AdminToken;
  readonly #drawnToken: string;
  readonly #console: NodeConsole;
  /** The history; null before the start. */
  #history: NodeHistory | null = null;
  readonly #admin: AdminPort;
  #relayServer: RelayServer | null = null;
  #isReady = false;
  #stopping = false;
  #closing: Promise<void> | null = null;
  listen: readonly ListenAddress[] = [];

  constructor(
    config: NodeConfig,
    log: Log,
    clock: () => number,
    team: Team | null,
    { consolePage: page = null, findObjects }: StartOptions,
  ) {
    this.#config = config;
    this.log = log;
    this.#clock = clock;
    this.#recorder = new AnswerRecorder({
      clock,
      objectKey: team?.objectKey ?? randomBytes(32),
      showsUrls: () => this.#config.consoleUrls,
    });
    this.#observer = new NodeObserver(log, clock, this.#recorder);
    this.#proxies = new CurrentProxies(log);
    this.#team = team;
    const name = () => this.name;
    this.#relay = team === null ? null : new Relay(team, name);
    this.#limits = { ...limitsOf(config, team) };
    this.#flights = { own: new Flights(clock), passing: new Flights(clock) };
    this.#neighbours = new NodeNeighbours({
      log,
      team,
      relay: this.#relay,
      limits: this.#limits as Limits,
      flights: this.#flights,
      name,
      policy: () => ({ name: this.name, ...this.#config.policy, validAfter: this.#validAfter }),
      proxies: () => this.#proxies.set,
      listen: () => this.listen,
      remove: (key) => this.removeKey(key),
      roomBytes: () => this.#roomBytes(),
      findObjects,
    });
    this.#token = new AdminToken(clock, () => team?.console?.wrongToken());
    this.#console = new NodeConsole({
      hello: () => ({
        name: this.name,
        version: VERSION,
        state: this.#stopping ? 'stopping' : 'running',
        urls: this.#config.consoleUrls ? 'shown' : 'hidden',
        historyKept: this.folder === null ? 'memory' : 'disk',
        features: [...CONSOLE_ENDPOINTS.keys()],
        hasFleet: this.#config.peers !== null || (this.#config.squids?.addresses.length ?? 0) > 0,
      }),
      report: () => this.#reports(),
      page,
      who: {
        keyOf: (url) => purgeKey(url, this.#proxies.set.router, 'look up'),
        shownUrl: (key) => (this.#config.consoleUrls ? publicUrl(key) : null),
        objectName: (key) => this.#recorder.objectName(key),
        mayName: (key) => this.#neighbours.mayName(key),
        stored: (key) => this.#stored(key),
        look: (key) => this.#neighbours.look(key),
        askWhether: (peer, key) => this.#neighbours.askWhether(peer, key),
      },
      picture: () => this.#neighbours.picture(),
      answers: () => this.#answers(),
      busiest: async () => team?.console?.busiest() ?? busiestOf([this.#recorder.busyPart()]),
      history: async (span) => team?.console?.history(span) ?? this.#history!.history(span),
      clock,
      failed: (error) => log.event('warn', 'console', { problem: error }),
    });
    this.#drawnToken = team?.token ?? drawToken();
    this.#admin = new AdminPort({
      token: this.#token,
      drawnToken: this.#drawnToken,
      name,
      log,
      limits: this.#limits as Limits,
      stopping: () => this.#stopping,
      ready: () => this.#isReady && !this.#stopping,
      metrics: () => this.metrics(),
      status: () => this.status(),
      purge: (url) => this.purge(url),
      purgeFleet: (url) => this.purgeFleet(url),
      warmUp: () => this.#neighbours.warmUp,
      console: this.#console,
    });
    this.#servers = new NodeServers(
      {
        name,
        resetsUnread: () => this.#config.squids?.digestBits != null,
        trustForwarded: () => this.#config.trustForwarded,
        request: (request, response, client) => this.#request(request, response, client),
        connect: (request, socket, head, client) =>
          this.#proxies.proxy.connect(request, socket, head, client),
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

  get adminListen(): ListenAddress | null {
    return this.#admin.listen;
  }

  get drawnToken(): string | null {
    return this.#config.adminToken === null ? this.#drawnToken : null;
  }

  get peerListen(): ListenAddress | null {
    return this.#neighbours.listen;
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
    this.#admin.configure(config);
    await this.#neighbours.join(config, this.store, this.folder);
    this.#proxies.use(this.#makeProxies(config));
    // With workers, the primary has the history of all of them.
    if (team?.console === undefined)
      this.#history = new NodeHistory({
        look: () => this.#countsNow(),
        clock: this.#clock,
        folder: this.folder,
        warn: (problem) => this.log.event('warn', 'console-history', { problem }),
        rowDone: (row) => this.#console.rowDone(row),
      });
    if (team !== null) {
      this.#relayServer = new RelayServer((request, response, client) => {
        if (!this.#neighbours.handleRelayed(request, response, client))
          this.#proxies.proxy.handle(request, response, client);
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
    if (place.adminListen !== null)
      this.#proxies.set.listensOn(await this.#admin.open(place.adminListen, certificate));
    await this.#neighbours.open(config, certificate);
    for (const address of place.listen) {
      signal?.throwIfAborted();
      const opened = await this.#servers.open(address, { certificate, nextFree: place.listenDefaulted });
      this.listen = [...this.listen, opened];
      this.#proxies.set.listensOn(opened);
    }
    signal?.throwIfAborted();
    this.#neighbours.start();
    this.#history?.start();
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
    const { served, bytes, fetched } = this.#neighbours.served;
    counters.objectsServed = served;
    counters.objectBytesServed = bytes;
    counters.objectsFetchedForGroups = fetched;
    counters.digests = this.#digests.counts;
    const squids = this.#neighbours.squidsReport();
    counters.squids = totalsOf(squids?.squids ?? []);
    const snapshot = counters.snapshot(
      this.#open?.statistics() ?? {},
      this.#observer.dropped,
      this.#watch.facts(),
      this.#proxies.proxy.activity,
    );
    return { worker: this.#team?.index ?? 0, pid: process.pid, at: Date.now(), snapshot, squids };
  }

  async purge(url: string, { signal }: AbortOptions = {}): Promise<number> {
    signal?.throwIfAborted();
    const key = purgeKey(url, this.#proxies.set.router);
    const owner = this.#ownerOf(key);
    const purged =
      owner === null ? await this.removeKey(key) : await (this.#team as Team).removeKey(owner, key);
    this.log.event('info', 'purged', { url: key, responses: purged });
    return purged;
  }

  async purgeFleet(url: string, options: AbortOptions = {}): Promise<FleetPurge> {
    const purged = await this.purge(url, options);
    const key = purgeKey(url, this.#proxies.set.router);
    const reach = await abortable(this.#neighbours.purge(key, PURGE_WAIT_MS), options.signal);
    if (reach === null) return { purged, confirmed: [], waiting: [] };
    return { purged, ...reach };
  }

  async removeKey(key: string, options: AbortOptions = {}): Promise<number> {
    // This includes responses that are being fetched for the key.
    return this.#proxies.proxy.forget(key, options);
  }

  reload(config: NodeConfig): string[] {
    const needRestart = settingsForRestart(this.#config, config);
    // Settings that stay unchanged must also be recorded unchanged.
    const next = withoutRestart(this.#config, config);
    // Steps that can fail come first, so that a failure leaves everything unchanged.
    const certificate = readCertificate(next);
    const changeNeighbours = this.#neighbours.prepareReload(next);
    const proxies = this.#makeProxies(next);
    for (const address of [...this.listen, this.adminListen, this.peerListen])
      if (address !== null) proxies.listensOn(address);
    try {
      this.#observer.useAccessLog(next);
    } catch (error) {
      this.#proxies.letGo(proxies);
      throw error;
    }
    this.#config = next;
    Object.assign(this.#limits, limitsOf(config, this.#team), {
      storedObjectBytes: this.#longestStored(config),
    });
    this.log.change({ level: config.logLevel, format: config.logFormat });
    this.#servers.applyLimits();
    this.#admin.applyLimits();
    this.#neighbours.changeLimits(this.#limits as Limits);
    if (certificate !== null) {
      this.#servers.changeCertificate(certificate);
      this.#admin.changeCertificate(certificate);
      this.#neighbours.changeCertificate(certificate);
    }
    changeNeighbours();
    this.#admin.configure(next);
    // Running requests and tunnels continue under the rules that they began with.
    this.#proxies.use(proxies);
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
    this.#console.close();
    // Neighbours are told first, so that they ask for nothing more.
    this.#neighbours.drain();
    const { shutdownDelayMs } = this.#config;
    // Load balancers read `ready` meanwhile, and send new clients elsewhere.
    if (this.listen.length > 0 && shutdownDelayMs > 0 && deadlineMs > 0) await pause(shutdownDelayMs);
    const leftMs = () => Math.max(0, shutdownDelayMs + deadlineMs - (Date.now() - started));
    const cut = await this.#servers.close(Math.min(deadlineMs, leftMs()));
    await this.#neighbours.close(leftMs);
    if (this.#relayServer !== null) {
      // Other workers may still have requests for this one.
      await Promise.race([this.#team?.drained(), pause(leftMs(), undefined, { ref: false })]);
      await this.#relay?.close();
      await this.#relayServer.close(leftMs());
    }
    await this.#proxies.close();
    await this.#admin.close();
    await this.#history?.close();
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
      this.#admin.answer(request, response, client);
      return;
    }
    if (this.#neighbours.handleDigest(request, response, client)) return;
    if (this.#team !== null) {
      const route = this.#proxies.set.router.route(target);
      const owner = 'key' in route ? this.#ownerOf(route.key) : null;
      if (owner !== null) {
        this.#observer.counters.relayed++;
        this.#relay?.send(request, response, { client, owner }, () =>
          this.#proxies.set.passing.handle(request, response, client),
        );
        return;
      }
    }
    this.#proxies.proxy.handle(request, response, client);
  }

  /** The worker that owns the key, or null if it is this process. */
  #ownerOf(key: string): number | null {
    const team = this.#team;
    if (team === null) return null;
    const owner = ownerOf(key, team.size);
    return owner === team.index ? null : owner;
  }

  // Building the parts.

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
      sourcesBeforeOrigin: this.#neighbours.sources,
    });
  }

  #longestStored({ limits }: NodeConfig): number {
    return Math.min(limits.storedObjectBytes, this.#open?.maxBodyBytes ?? Number.POSITIVE_INFINITY);
  }

  /** Free bytes of the disk, or of the memory if there is no disk. */
  #roomBytes(): number {
    const { memory, disk } = this.#open?.statistics() ?? {};
    const tier = disk ?? memory;
    return tier === undefined ? 0 : Math.max(0, tier.capacityBytes - tier.bytes);
  }

  async #reports(): Promise<TeamReport> {
    return this.#team === null ? this.#ownReport() : this.#team.collect(() => this.report());
  }

  #ownReport(): TeamReport {
    return { members: [this.report()], ended: null, fleet: this.#neighbours.fleetReport() };
  }

  get consolePart(): ConsolePart {
    return {
      answers: (after) => this.#recorder.part(after),
      busiest: () => this.#recorder.busyPart(),
      stored: (key) => this.#storedHere(key),
      rowDone: (row) => this.#console.rowDone(row),
      noteWrongToken: () => this.#token.noteWrong(),
    };
  }

  async #answers(): Promise<AnswerBook> {
    const whole = this.#team?.console;
    if (whole === undefined) this.#book.take(new Map([[0, this.#recorder.part(this.#book.knownOf(0))]]));
    else {
      const { lastId, answers } = await whole.answers(this.#book.lastId);
      this.#book.adopt(lastId, answers);
    }
    return this.#book;
  }

  async #stored(key: string): Promise<Who['local']> {
    const owner = this.#ownerOf(key);
    const whole = this.#team?.console;
    return owner === null || whole === undefined ? this.#storedHere(key) : whole.stored(owner, key);
  }

  async #storedHere(key: string): Promise<Who['local']> {
    const found = await this.store.find(key);
    const now = this.#clock();
    const isFresh = found.some((response) => secondsLeft(response, now) > 0);
    return { isStored: found.length > 0, isFresh: found.length === 0 ? null : isFresh };
  }

  #countsNow(): ReturnType<LookAtCounts> {
    return lookAt(this.#ownReport(), this.#clock());
  }
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

/** How long a purge waits for the confirmations of neighbours. */
const PURGE_WAIT_MS = 10_000;
