/**
 * Runs the command from its start to its end: one process or several, the banner, and signals.
 *
 * | signal | |
 * |---|---|
 * | SIGTERM, SIGINT | finish running answers, then end; the second one ends at once |
 * | SIGHUP | read the configuration again, open the access log again |
 * | SIGUSR1, SIGUSR2 | open the access log again (logrotate) |
 *
 * SIGUSR1 is handled although Node uses it for its debugger: an operator who sends it out of habit
 * would otherwise open a port through which any code can be run.
 */

import type { MakeObjectFinder } from '../peers/groups/object-finder.ts';
import type { AbortOptions } from '../store/abortable.ts';
import { banner } from './banner.ts';
import type { ListenAddress } from './config/listen-address.ts';
import { type ConfigSources, loadConfig, type NodeConfig } from './config/node-config.ts';
import { boundHeapGrowth } from './heap-growth.ts';
import { Log } from './log/log.ts';
import { startNode } from './start-node.ts';
import { VERSION } from './version.ts';
import { Workers } from './workers/workers.ts';

/** `signal` ends the command like SIGTERM, or its start with the reason of the signal. */
export interface RunOptions extends ConfigSources, AbortOptions {
  /** Prints the banner; without it there is none. */
  readonly print?: (text: string) => void;
  /** The folder with the built page of the console, or `assets:` (console/page-files.ts). */
  readonly consolePage?: string | null;
  /** Makes the directory of objects across groups, for `--group-find`. */
  readonly findObjects?: MakeObjectFinder | undefined;
  /** The command that starts the cache, for the banner. */
  readonly command: string;
}

interface Running {
  readonly listen: readonly ListenAddress[];
  readonly adminListen: ListenAddress | null;
  readonly drawnToken: string | null;
  readonly folder: string | null;
  reload(config: NodeConfig): unknown;
  reopenLogs(): void;
  close(deadlineMs: number): Promise<void>;
}

/**
 * Resolves with the exit code when the node has ended. Throws the error that kept it from starting.
 */
export async function runCache(options: RunOptions): Promise<number> {
  let config = loadConfig(options);
  boundHeapGrowth();
  const log = new Log({ level: config.logLevel, format: config.logFormat });
  let ended: (code: number) => void = () => {};
  const end = new Promise<number>((resolve) => {
    ended = resolve;
  });
  let running: Running | null = null;
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    // 128 plus the number of the signal, as in shells.
    if (stopping || running === null) process.exit(signal === 'SIGINT' ? 130 : 143);
    close(running);
  };
  const close = (node: Running) => {
    stopping = true;
    node.close(config.shutdownMs).then(
      () => ended(0),
      (error) => {
        log.event('error', 'not-stopped-cleanly', { problem: error });
        ended(1);
      },
    );
  };
  let reloadWhenStarted = false;
  const reload = () => {
    if (running === null) reloadWhenStarted = true;
    if (running === null || stopping) return;
    running.reopenLogs();
    try {
      config = loadConfig(options);
      log.change({ level: config.logLevel, format: config.logFormat });
      running.reload(config);
    } catch (error) {
      // The old configuration is better than none.
      log.event('error', 'not-reloaded', { problem: error });
    }
  };
  const reopen = () => (running === null ? reload() : running.reopenLogs());
  const signals = { SIGTERM: stop, SIGINT: stop, SIGHUP: reload, SIGUSR1: reopen, SIGUSR2: reopen } as const;
  for (const [signal, listener] of Object.entries(signals)) process.on(signal as NodeJS.Signals, listener);
  // The loss of a terminal or a pipe is no reason to stop serving.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const crash = (error: unknown) => {
    log.event('error', 'crashed', {
      problem: error,
      stack: error instanceof Error ? error.stack : undefined,
    });
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  try {
    const { signal, consolePage = null, findObjects } = options;
    const node =
      config.workers === 1
        ? await startNode(config, { log, signal, consolePage, findObjects })
        : await Workers.start(config, log, { signal, consolePage, findObjects });
    running = node;
    const onAbort = () => {
      if (!stopping) close(node);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    if (reloadWhenStarted) reload();
    options.print?.(
      banner(config, {
        listen: running.listen,
        adminListen: running.adminListen,
        drawnToken: running.drawnToken,
        folder: running.folder,
        version: VERSION,
        command: options.command,
      }),
    );
    return await end;
  } finally {
    for (const [signal, listener] of Object.entries(signals)) process.off(signal, listener);
    process.off('uncaughtException', crash);
    process.off('unhandledRejection', crash);
  }
}
