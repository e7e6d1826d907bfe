/**
 * Several processes behind the same ports (`--workers N`, node:cluster). This is the primary: it
 * accepts connections and distributes them, starts the workers, restarts those that die, and passes
 * their messages on. It does not touch requests of clients. In a fleet it is the node that
 * neighbours know (primary-fleet.ts).
 *
 * Each key belongs to one worker (team.ts), which has its own share of the memory and its own
 * folder on disk. The cost: (N - 1) / N of all requests are relayed to another process (relay.ts),
 * and the primary hands over each connection. Workers are therefore for TLS, large bodies and many
 * origins, not for small hits; figures are in docs/guide/cache.md.
 *
 * A worker that dies loses its running answers (their clients see a broken connection, never a
 * short body) and the responses that it had in memory only. A connection that was on its way to it
 * is closed. Until it is back, the others ask origins for its keys without storing the responses.
 * It learns which keys were invalidated meanwhile before it serves again. A worker that repeatedly
 * dies within seconds is restarted after increasing pauses. Its counts are not lost
 * (member-ledger.ts). A worker that hangs is killed (silence-watch.ts), and then restarted like any
 * other.
 */

import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { closeSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MakeObjectFinder } from '../../peers/groups/object-finder.ts';
import { closeUntaken } from '../../safety/node-internals.ts';
import { type AbortOptions, abortable } from '../../store/abortable.ts';
import { drawToken } from '../admin/admin-token.ts';
import type { TeamReport } from '../admin/status.ts';
import { type ClaimedFolder, claimConfiguredFolder } from '../claimed-folder.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { readPeerCertificates } from '../config/peer-certificates.ts';
import { readPeerSecrets } from '../config/peer-secret.ts';
import { settingsForRestart, withoutRestart } from '../config/reload-rules.ts';
import type { PartQuestion } from '../console/console-part.ts';
import { lookAt } from '../console/counts.ts';
import { readCertificate } from '../listen/node-servers.ts';
import { openAccessLog } from '../log/access-log.ts';
import type { Log } from '../log/log.ts';
import { MemberLedger } from '../metrics/member-ledger.ts';
import { randomName } from '../node-name.ts';
import { PrimaryConsole } from './primary-console.ts';
import { PrimaryFleet } from './primary-fleet.ts';
import { SilenceWatch } from './silence-watch.ts';
import { ownerOf } from './team.ts';
import type { ToPrimary, ToWorker } from './worker-messages.ts';
import { openWorkersFolder, type WorkersFolder } from './workers-folder.ts';

const START_MS = 60_000;
const REPORT_MS = 1000;
const HEALTHY_MS = 10_000;
const LONGEST_PAUSE_MS = 30_000;
/** A worker sends a message every 2 s; this is how late a busy one may be. */
const HUNG_MS = 30_000;
/** Maximum number of keys that wait for a worker that is down. */
const MOST_WAITING = 100_000;

interface WorkersOptions extends AbortOptions {
  readonly hungMs?: number;
  /** The folder of the console's page; see `StartOptions`. */
  readonly consolePage?: string | null;
  /** Makes the directory of objects across groups, which the primary has. */
  readonly findObjects?: MakeObjectFinder | undefined;
}

interface Member {
  readonly index: number;
  worker: Worker | null;
  /** True if it takes requests of the other workers. */
  prepared: boolean;
  /** True if it takes requests of clients. */
  ready: boolean;
  startedAt: number;
  /** How many times in a row it died young. */
  early: number;
  /** Keys to remove at its next start, and the callbacks that wait for that. */
  readonly waiting: {
    readonly key: string;
    readonly done: (count: number, problem: string | null) => void;
  }[];
}

export class Workers {
  readonly #log: Log;
  readonly #folder: WorkersFolder;
  readonly #ledger = new MemberLedger();
  readonly #members: Member[];
  readonly #answers = new Map<number, (answer: ToPrimary) => void>();
  /** The configuration as requested. */
  #asked: NodeConfig;
  /** The configuration for workers, with the actual folder, ports and name. */
  #config: NodeConfig;
  /** The name of all workers, if none is configured. */
  readonly #chosenName: string;
  /** Number of reloads and reopened logs: a worker that was starting meanwhile has missed them. */
  #renewals = 0;
  #lastId = 0;
  #stopping = false;
  /** Workers that have nothing to relay any more. */
  readonly #drained = new Set<number>();
  /** The time at which running answers are cut, by `Date.now`, once the node ends. */
  #cutAt = 0;
  listen: readonly ListenAddress[] = [];
  adminListen: ListenAddress | null = null;
  readonly #disk: ClaimedFolder | null;
  readonly #watch: SilenceWatch;
  /** The node in its fleet, or null if it has no neighbours. */
  #fleet: PrimaryFleet | null = null;
  readonly #drawnToken = drawToken();
  readonly #objectKey = randomBytes(32).toString('base64');
  #consolePage: string | null = null;
  #findObjects: MakeObjectFinder | undefined;
  readonly #console: PrimaryConsole;

  private constructor(
    config: NodeConfig,
    log: Log,
    folder: WorkersFolder,
    disk: ClaimedFolder | null,
    hungMs: number,
  ) {
    this.#asked = config;
    this.#chosenName = disk?.name ?? randomName();
    this.#config = {
      ...config,
      name: config.name ?? this.#chosenName,
      disk: disk === null || config.disk === null ? null : { ...config.disk, folder: disk.folder },
    };
    this.#folder = folder;
    this.#disk = disk;
    this.#log = log;
    this.#watch = new SilenceWatch(hungMs, (index) => this.#hangs(this.#members[index], hungMs));
    this.#console = new PrimaryConsole({
      folder: disk?.folder ?? null,
      look: () => {
        const report = { ...this.#ledger.report, fleet: this.#fleet?.report() ?? null };
        return report.members.length === 0 && report.ended === null ? null : lookAt(report, Date.now());
      },
      warn: (problem) => log.event('warn', 'console-history', { problem }),
      rowDone: (row) => this.#tellAll({ kind: 'history-row', row }),
      workers: () =>
        this.#members.flatMap(({ index, worker, ready }) => (worker !== null && ready ? [index] : [])),
      ask: (index, question) => this.#askPart(index, question),
    });
    this.#members = Array.from({ length: config.workers }, (_, index) => ({
      index,
      worker: null,
      prepared: false,
      ready: false,
      startedAt: 0,
      early: 0,
      waiting: [],
    }));
  }

  /**
   * Resolves when all workers are ready; throws the error of the first one that failed. `hungMs`:
   * how long a worker may be silent.
   */
  static async start(
    config: NodeConfig,
    log: Log,
    { hungMs = HUNG_MS, signal, consolePage = null, findObjects }: WorkersOptions = {},
  ): Promise<Workers> {
    signal?.throwIfAborted();
    const own = import.meta.url;
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`./worker-process${own.endsWith('.ts') ? '.ts' : '.js'}`, own)),
      args: [],
    });
    const disk = await claimConfiguredFolder(config, log, signal);
    const workers = new Workers(config, log, await openWorkersFolder(), disk, hungMs);
    workers.#consolePage = consolePage;
    workers.#findObjects = findObjects;
    try {
      await workers.#joinFleet();
      await abortable(Promise.all(workers.#members.map((member) => workers.#start(member))), signal);
    } catch (error) {
      await workers.close(0);
      throw error;
    }
    workers.#console.start();
    for (const warning of config.warnings) log.event('warn', 'configuration', { warning });
    return workers;
  }

  get folder(): string | null {
    return this.#disk?.folder ?? null;
  }

  /** The token that the node drew at its start; null if the operator set one. */
  get drawnToken(): string | null {
    return this.#config.adminToken === null ? this.#drawnToken : null;
  }

  get pids(): readonly number[] {
    return this.#members.map(({ worker }) => worker?.process.pid ?? 0);
  }

  async #joinFleet(): Promise<void> {
    const { peers, name } = this.#config;
    if (peers === null) return;
    this.#fleet = await PrimaryFleet.open({
      config: this.#config,
      peers,
      name: name ?? this.#chosenName,
      log: this.#log,
      socketPath: (worker) => this.#socketPath(worker),
      tellAll: (message) => {
        for (const { worker } of this.#members) if (worker !== null) tell(worker, message);
      },
      folder: this.#disk?.folder ?? null,
      findObjects: this.#findObjects,
      remove: (key) => {
        const owner = this.#members[ownerOf(key, this.#members.length)]!;
        return new Promise<number>((resolve, reject) => {
          this.#remove(owner, key, (count, problem) =>
            problem === null ? resolve(count) : reject(new Error(problem)),
          );
        });
      },
    });
  }

  #socketPath(worker: number): string {
    return join(this.#folder.path, `${worker}.sock`);
  }

  /**
   * Throws if workers could not apply the configuration; otherwise a worker that is restarted later
   * would fail forever.
   */
  reload(config: NodeConfig): void {
    if (config.accessLog !== null && config.accessLog !== '-') closeSync(openAccessLog(config.accessLog));
    const certificate = readCertificate(config);
    const { peers } = this.#config;
    const secrets = peers === null ? null : readPeerSecrets(peers.secretFile);
    const pem = peers?.certificates == null ? null : readPeerCertificates(peers.certificates);
    // This comes before the other changes, because it throws if the name of the node is missing in
    // the new certificate.
    if (pem !== null) this.#fleet?.changeCertificates(pem);
    if (secrets !== null) this.#fleet?.changeSecrets(secrets);
    if (certificate !== null) this.#fleet?.changeCertificate(certificate);
    this.#fleet?.changeLimits(config.limits);
    const settings = settingsForRestart(this.#asked, config);
    if (settings.length > 0) this.#log.event('warn', 'needs-restart', { settings });
    for (const warning of config.warnings) this.#log.event('warn', 'configuration', { warning });
    this.#asked = withoutRestart(this.#asked, config);
    this.#config = this.#withPorts(config);
    if (this.#config.peers !== null) this.#fleet?.changeMembers(this.#config.peers);
    this.#renewals++;
    this.#tellAll({ kind: 'reload', config: this.#config });
  }

  reopenLogs(): void {
    this.#renewals++;
    this.#tellAll({ kind: 'reopen-logs' });
  }

  async close(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    // From now on the deadline limits the workers, so silence is not watched any more.
    this.#watch.stop();
    const { shutdownDelayMs } = this.#config;
    const totalMs = shutdownDelayMs + deadlineMs;
    this.#cutAt = Date.now() + totalMs;
    // Neighbours are told first, so that they ask for nothing more.
    this.#fleet?.drain();
    const running = this.#members.flatMap(({ worker }) =>
      worker === null || worker.isDead() ? [] : [worker],
    );
    const ended = running.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const { index, worker, ready } of this.#members) {
      if (worker === null) {
        this.#drained.add(index);
        continue;
      }
      // A worker that is still starting has nothing to finish.
      if (ready) tell(worker, { kind: 'stop', deadlineMs });
      else worker.process.kill('SIGKILL');
    }
    // Slightly more than their deadline: workers that still run after that hang.
    const timer = setTimeout(() => {
      for (const worker of running) worker.process.kill('SIGKILL');
    }, totalMs + 5000);
    await Promise.all(ended);
    clearTimeout(timer);
    await this.#console.close();
    await this.#fleet?.close(0);
    this.#folder.close();
    this.#disk?.release();
  }

  /**
   * The configuration with the ports found at the first start, so that a restarted worker uses the
   * same ones. "Any port" stays unchanged: node:cluster identifies a shared socket by the requested
   * address, and would open a second one for the number.
   */
  #withPorts(config: NodeConfig): NodeConfig {
    const { listen: asked } = this.#asked;
    return {
      ...withoutRestart(this.#config, config),
      name: config.name ?? this.#chosenName,
      listen: this.listen.map((address, i) => (asked[i].port === 0 ? asked[i] : address)),
      listenDefaulted: false,
    };
  }

  #start(member: Member): Promise<void> {
    member.prepared = false;
    member.ready = false;
    member.startedAt = Date.now();
    let worker: Worker;
    try {
      rmSync(this.#socketPath(member.index), { force: true });
      worker = cluster.fork();
    } catch (error) {
      this.#exited(member, null, (error as Error).message);
      return Promise.reject(error);
    }
    closeUntaken(worker.process);
    member.worker = worker;
    const removals = member.waiting.splice(0);
    let renewals = this.#renewals;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        worker.process.kill('SIGKILL');
        reject(
          new Error(
            `Cannot start worker ${member.index}: expected it ready after ${START_MS / 1000} s, but it was not`,
          ),
        );
      }, START_MS);
      const ended = (how: string | number) => {
        clearTimeout(timer);
        // It is unknown whether they were removed: repeat at the next start.
        if (!member.ready) member.waiting.unshift(...removals);
        this.#exited(member, worker, how);
        reject(new Error(`Cannot start worker ${member.index}: it ended at its start (${how})`));
      };
      worker.once('exit', (code, signal) => ended(signal ?? code));
      worker.on('error', (error: Error) => {
        // Too many processes, or no descriptors: the process never existed, so there is no exit
        // event.
        if (worker.process.pid === undefined && member.worker === worker) ended(error.message);
      });
      worker.on('message', (message: ToPrimary) => {
        // Any message counts. While the worker starts, START_MS is its limit.
        if (member.ready && member.worker === worker) this.#watch.heard(member.index);
        if (message.kind === 'hello') {
          renewals = this.#renewals;
          tell(worker, {
            kind: 'start',
            config: this.#config,
            index: member.index,
            size: this.#members.length,
            folder: this.#folder.path,
            removeFirst: removals.map(({ key }) => key),
            token: this.#drawnToken,
            consolePage: this.#consolePage,
            objectKey: this.#objectKey,
            fleet: this.#fleet?.begin(member.index) ?? null,
          });
        } else if (message.kind === 'prepared') {
          member.prepared = true;
          this.#mayListen();
        } else if (message.kind === 'ready') {
          clearTimeout(timer);
          member.ready = true;
          this.#watch.heard(member.index);
          if (this.listen.length === 0) this.#foundPorts(message);
          for (const { done } of removals) done(0, null);
          if (renewals !== this.#renewals) {
            tell(worker, { kind: 'reload', config: this.#config });
            tell(worker, { kind: 'reopen-logs' });
          }
          // Keys that came while it was starting.
          for (const { key, done } of member.waiting.splice(0)) this.#remove(member, key, done);
          resolve();
        } else if (message.kind === 'failed') {
          clearTimeout(timer);
          reject(new Error(message.message));
          worker.process.kill('SIGKILL');
        } else if (member.worker === worker) this.#answer(member, message);
      });
    });
  }

  /**
   * At the first start, no worker serves clients before all serve each other. The first one finds
   * the ports, and the others use the same.
   */
  #mayListen(): void {
    if (!this.#members.every(({ prepared, ready }) => prepared || ready) && this.listen.length === 0) return;
    const { listen, adminListen, listenDefaulted } = this.#config;
    for (const { index, worker, prepared, ready } of this.#members) {
      if (worker === null || !prepared || ready || (this.listen.length === 0 && index > 0)) continue;
      tell(worker, { kind: 'listen', listen, adminListen, listenDefaulted });
    }
  }

  #foundPorts({ listen, adminListen }: Extract<ToPrimary, { kind: 'ready' }>): void {
    this.listen = listen;
    this.adminListen = adminListen;
    this.#config = this.#withPorts(this.#config);
    this.#mayListen();
  }

  #exited(member: Member, worker: Worker | null, how: string | number): void {
    if (member.worker === worker) member.worker = null;
    this.#ledger.end(member.index);
    this.#fleet?.end(member.index);
    this.#console.end(member.index);
    this.#watch.forget(member.index);
    const wasReady = member.ready;
    member.ready = false;
    if (this.#stopping) {
      this.#oneDrained(member);
      return;
    }
    // At the very first start, the caller of `start` gets the error.
    if (!wasReady && this.listen.length === 0) return;
    member.early = Date.now() - member.startedAt < HEALTHY_MS ? member.early + 1 : 0;
    const pauseMs = member.early <= 1 ? 0 : Math.min(LONGEST_PAUSE_MS, 250 * 2 ** member.early);
    this.#log.event('error', 'worker-died', {
      worker: member.index,
      pid: worker?.process.pid,
      how,
      restartInMs: pauseMs,
    });
    setTimeout(() => {
      if (this.#stopping) return;
      this.#start(member).then(
        () =>
          this.#log.event('info', 'worker-restarted', {
            worker: member.index,
            pid: member.worker?.process.pid,
          }),
        (error) => this.#log.event('error', 'worker-not-restarted', { worker: member.index, problem: error }),
      );
    }, pauseMs);
  }

  #hangs({ index, worker }: Member, silentMs: number): void {
    this.#log.event('error', 'worker-hung', { worker: index, pid: worker?.process.pid, silentMs });
    worker?.process.kill('SIGKILL');
  }

  #answer(member: Member, message: ToPrimary): void {
    switch (message.kind) {
      case 'collect':
        this.#ledger.note(message.report);
        void this.#collect(member).then((report) => {
          if (member.worker !== null) tell(member.worker, { kind: 'collected', id: message.id, report });
        });
        break;
      case 'remove':
        this.#remove(this.#members[message.owner], message.key, (count, problem) => {
          if (member.worker !== null)
            tell(member.worker, { kind: 'removed', id: message.id, count, problem });
        });
        break;
      case 'drained':
        this.#oneDrained(member);
        break;
      case 'report':
        // A report is noted even if it comes too late for its question.
        this.#ledger.note(message.report);
        if (message.id === null) break;
        this.#answers.get(message.id)?.(message);
        break;
      case 'removed':
      case 'console-part':
        this.#answers.get(message.id)?.(message);
        break;
      case 'console': {
        const { worker } = member;
        this.#console
          .answer(message.question)
          .then((answer) => {
            if (worker !== null) tell(worker, { kind: 'console-said', id: message.id, answer });
          })
          .catch((problem) => this.#log.event('warn', 'console', { problem }));
        break;
      }
      case 'wrong-token':
        for (const other of this.#members)
          if (other !== member && other.worker !== null) tell(other.worker, { kind: 'wrong-token' });
        break;
      case 'summary':
      case 'plan':
      case 'ask-owner':
      case 'purge':
      case 'look':
      case 'picture':
      case 'done':
      case 'gave-up':
      case 'neighbour-report': {
        const { worker } = member;
        this.#fleet?.receive(member.index, message, (answer) => {
          if (worker !== null) tell(worker, answer);
        });
      }
    }
  }

  /**
   * Collects the reports. For a worker that does not answer in time, its previous report is used.
   */
  async #collect(asking: Member): Promise<TeamReport> {
    await Promise.all(
      this.#members.map(async (member) => {
        const { worker, ready } = member;
        if (member !== asking && worker !== null && ready)
          await this.#ask(worker, (id) => ({ kind: 'report', id }), REPORT_MS);
      }),
    );
    return { ...this.#ledger.report, fleet: this.#fleet?.report() ?? null };
  }

  /** Asks a worker for its part of the console; null if it does not answer in time. */
  async #askPart(index: number, question: PartQuestion): Promise<unknown> {
    const { worker, ready } = this.#members[index] as Member;
    if (worker === null || !ready) return null;
    const answer = await this.#ask(worker, (id) => ({ kind: 'console-part', id, question }), REPORT_MS);
    return answer?.kind === 'console-part' ? answer.part : null;
  }

  #remove(owner: Member, key: string, done: (count: number, problem: string | null) => void): void {
    if (owner.worker === null || !owner.ready) {
      if (owner.waiting.length < MOST_WAITING) owner.waiting.push({ key, done });
      else done(0, `Worker ${owner.index} is down, and ${MOST_WAITING} keys wait for it already`);
      return;
    }
    void this.#ask(owner.worker, (id) => ({ kind: 'remove', id, key })).then((answer) => {
      if (answer?.kind === 'removed') done(answer.count, answer.problem);
      // It died before it answered, so it is unknown whether it removed the key.
      else this.#remove(owner, key, done);
    });
  }

  /** The answer, or null after the timeout or the death of the worker. */
  #ask(worker: Worker, question: (id: number) => ToWorker, timeoutMs?: number): Promise<ToPrimary | null> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const end = (answer: ToPrimary | null) => {
        clearTimeout(timer);
        worker.off('exit', gone);
        this.#answers.delete(id);
        resolve(answer);
      };
      const gone = () => end(null);
      const timer = timeoutMs === undefined ? undefined : setTimeout(gone, timeoutMs);
      worker.once('exit', gone);
      this.#answers.set(id, end);
      tell(worker, question(id));
    });
  }

  #oneDrained({ index }: Member): void {
    this.#drained.add(index);
    if (this.#drained.size < this.#members.length) return;
    // All clients are served. The rest of the time is for answers to neighbours.
    void this.#fleet?.close(Math.max(0, this.#cutAt - Date.now()));
    this.#tellAll({ kind: 'all-drained' });
  }

  #tellAll(message: ToWorker): void {
    for (const { worker, ready } of this.#members) if (worker !== null && ready) tell(worker, message);
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
