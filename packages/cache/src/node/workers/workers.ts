/**
 * Several processes behind the same ports (`--workers N`, node:cluster). This is the primary: it takes connections and hands them round, starts the
 * workers, restarts those that die, and carries their messages. It touches no request.
 *
 * Each key belongs to one worker (team.ts), which has its own part of the memory and its own folder on disk. What it costs:
 * (N - 1) / N of all requests are relayed to another process (relay.ts), and each connection is handed over by the primary. So workers
 * are for TLS, large bodies and many origins, not for small hits; figures are in docs/guide/cache.md.
 *
 * A worker that dies loses its running answers (their clients see a broken connection, never a short body) and what it had in memory only. Until it is
 * back the others ask origins for its keys without storing. Keys invalidated meanwhile are told to it before it serves again. A worker that dies
 * within seconds, again and again, is restarted ever more slowly. What it had counted is not lost (member-ledger.ts). One that hangs is killed
 * (silence-watch.ts), and then restarted like any other.
 */

import cluster, { type Worker } from 'node:cluster';
import { closeSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TeamReport } from '../admin/status.ts';
import { type ClaimedFolder, claimConfiguredFolder } from '../claimed-folder.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { settingsForRestart, withoutRestart } from '../config/reload-rules.ts';
import { openAccessLog } from '../log/access-log.ts';
import type { Log } from '../log/log.ts';
import { MemberLedger } from '../metrics/member-ledger.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { ToPrimary, ToWorker } from './worker-messages.ts';
import { openWorkersFolder, type WorkersFolder } from './workers-folder.ts';

const START_MS = 60_000;
const REPORT_MS = 1000;
const HEALTHY_MS = 10_000;
const LONGEST_PAUSE_MS = 30_000;
/** A worker says something every 2 s; the longest that a busy one may be late. */
const HUNG_MS = 30_000;
/** Keys that wait for a worker that is down. */
const MOST_WAITING = 100_000;

interface Member {
  readonly index: number;
  worker: Worker | null;
  /** It takes requests of the others. */
  prepared: boolean;
  /** It takes requests of clients. */
  ready: boolean;
  startedAt: number;
  /** How often in a row it died young. */
  early: number;
  /** Keys to forget at its next start, and who wants to know. */
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
  /** As it was asked for. */
  #asked: NodeConfig;
  /** As workers are to have it: with the folder and the ports that were found. */
  #config: NodeConfig;
  /** Reloads, and logs opened again: a worker that was starting meanwhile has missed them. */
  #renewals = 0;
  #lastId = 0;
  #stopping = false;
  /** Workers that have nothing to relay any more. */
  readonly #drained = new Set<number>();
  listen: readonly ListenAddress[] = [];
  adminListen: ListenAddress | null = null;
  readonly #disk: ClaimedFolder | null;
  readonly #watch: SilenceWatch;

  private constructor(
    config: NodeConfig,
    log: Log,
    folder: WorkersFolder,
    disk: ClaimedFolder | null,
    hungMs: number,
  ) {
    this.#asked = config;
    this.#config =
      disk === null || config.disk === null
        ? config
        : { ...config, disk: { ...config.disk, folder: disk.folder } };
    this.#folder = folder;
    this.#disk = disk;
    this.#log = log;
    this.#watch = new SilenceWatch(hungMs, (index) => this.#hangs(this.#members[index], hungMs));
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

  /** Resolves when all are ready; throws what the first one could not do. `hungMs`: how long a worker may say nothing. */
  static async start(config: NodeConfig, log: Log, { hungMs = HUNG_MS } = {}): Promise<Workers> {
    const own = import.meta.url;
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`./worker-process${own.endsWith('.ts') ? '.ts' : '.js'}`, own)),
      args: [],
    });
    const disk = await claimConfiguredFolder(config);
    if (disk?.rearranged)
      log.event('warn', 'disk-rearranged', { folder: disk.folder, workers: config.workers });
    const workers = new Workers(config, log, await openWorkersFolder(), disk, hungMs);
    try {
      await Promise.all(workers.#members.map((member) => workers.#start(member)));
    } catch (error) {
      await workers.close(0);
      throw error;
    }
    for (const warning of config.warnings) log.event('warn', 'configuration', { warning });
    return workers;
  }

  get folder(): string | null {
    return this.#disk?.folder ?? null;
  }

  get pids(): readonly number[] {
    return this.#members.map(({ worker }) => worker?.process.pid ?? 0);
  }

  /** Throws when workers could not take it: else one that is restarted later would fail for ever. */
  reload(config: NodeConfig): void {
    if (config.accessLog !== null && config.accessLog !== '-') closeSync(openAccessLog(config.accessLog));
    const settings = settingsForRestart(this.#asked, config);
    if (settings.length > 0) this.#log.event('warn', 'needs-restart', { settings });
    for (const warning of config.warnings) this.#log.event('warn', 'configuration', { warning });
    this.#asked = withoutRestart(this.#asked, config);
    this.#config = this.#withPorts(config);
    this.#renewals++;
    this.#tellAll({ kind: 'reload', config: this.#config });
  }

  reopenLogs(): void {
    this.#renewals++;
    this.#tellAll({ kind: 'reopen-logs' });
  }

  async close(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    // From now on they have a deadline.
    this.#watch.stop();
    const running = this.#members.flatMap(({ worker }) =>
      worker === null || worker.isDead() ? [] : [worker],
    );
    const ended = running.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const { index, worker, ready } of this.#members) {
      if (worker === null) {
        this.#drained.add(index);
        continue;
      }
      // One that is just starting has nothing to finish.
      if (ready) tell(worker, { kind: 'stop', deadlineMs });
      else worker.process.kill('SIGKILL');
    }
    // A little more than they were given: after that they hang.
    const timer = setTimeout(() => {
      for (const worker of running) worker.process.kill('SIGKILL');
    }, deadlineMs + 5000);
    await Promise.all(ended);
    clearTimeout(timer);
    this.#folder.close();
    this.#disk?.release();
  }

  /**
   * With the ports that were found at the first start, so that a worker that is restarted takes the same place. "Any port" stays that: node:cluster knows a
   * shared socket by what was asked for, and would open a second one for the number.
   */
  #withPorts(config: NodeConfig): NodeConfig {
    const { listen: asked } = this.#asked;
    return {
      ...withoutRestart(this.#config, config),
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
      rmSync(join(this.#folder.path, `${member.index}.sock`), { force: true });
      worker = cluster.fork();
    } catch (error) {
      this.#exited(member, null, (error as Error).message);
      return Promise.reject(error);
    }
    member.worker = worker;
    const removals = member.waiting.splice(0);
    let renewals = this.#renewals;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        worker.process.kill('SIGKILL');
        reject(new Error(`Worker ${member.index} was not ready after ${START_MS / 1000} s`));
      }, START_MS);
      const ended = (how: string | number) => {
        clearTimeout(timer);
        // Not known to be forgotten: once more at the next start.
        if (!member.ready) member.waiting.unshift(...removals);
        this.#exited(member, worker, how);
        reject(new Error(`Worker ${member.index} ended at its start (${how})`));
      };
      worker.once('exit', (code, signal) => ended(signal ?? code));
      worker.on('error', (error: Error) => {
        // Too many processes, or no descriptors: it was never there, and has no end either.
        if (worker.process.pid === undefined && member.worker === worker) ended(error.message);
      });
      worker.on('message', (message: ToPrimary) => {
        // Whatever it says; while it starts, START_MS is its limit.
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
          // What came while it was starting.
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

  /** At the first start nobody serves clients before all serve each other; the first one finds the ports, the others take the same. */
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
    this.#watch.forget(member.index);
    const wasReady = member.ready;
    member.ready = false;
    if (this.#stopping) {
      this.#oneDrained(member);
      return;
    }
    // At the first start of all, whoever waits for it hears of it.
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
        // Also one that comes too late for who asked.
        this.#ledger.note(message.report);
        if (message.id === null) break;
        this.#answers.get(message.id)?.(message);
        break;
      case 'removed':
        this.#answers.get(message.id)?.(message);
    }
  }

  /** Of one that does not answer in time, what it said before. */
  async #collect(asking: Member): Promise<TeamReport> {
    await Promise.all(
      this.#members.map(async (member) => {
        const { worker, ready } = member;
        if (member !== asking && worker !== null && ready)
          await this.#ask(worker, (id) => ({ kind: 'report', id }), REPORT_MS);
      }),
    );
    return this.#ledger.report;
  }

  #remove(owner: Member, key: string, done: (count: number, problem: string | null) => void): void {
    if (owner.worker === null || !owner.ready) {
      if (owner.waiting.length < MOST_WAITING) owner.waiting.push({ key, done });
      else done(0, `Worker ${owner.index} is down, and ${MOST_WAITING} keys wait for it already`);
      return;
    }
    void this.#ask(owner.worker, (id) => ({ kind: 'remove', id, key })).then((answer) => {
      if (answer?.kind === 'removed') done(answer.count, answer.problem);
      // It died before it answered: it may or may not have done it.
      else this.#remove(owner, key, done);
    });
  }

  /** Null: no answer, because of the time or because the worker died. */
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
    if (this.#drained.size === this.#members.length) this.#tellAll({ kind: 'all-drained' });
  }

  #tellAll(message: ToWorker): void {
    for (const { worker, ready } of this.#members) if (worker !== null && ready) tell(worker, message);
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
