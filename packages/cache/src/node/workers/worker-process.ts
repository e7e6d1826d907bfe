/**
 * One worker: the program that the primary (workers.ts) starts. It only follows messages on the
 * channel. It ignores signals that a terminal sends to all processes at once, because the primary
 * handles them. When the primary ends, node:cluster ends the worker, and the last worker removes
 * the folder of their sockets.
 */

import { join } from 'node:path';
import { systemClock } from '@bloomery/transport';
import { answerPart, type ConsoleQuestion } from '../console/console-part.ts';
import { boundHeapGrowth } from '../heap-growth.ts';
import { Log } from '../log/log.ts';
import { type CacheNode, type ListenPlaces, startNode } from '../start-node.ts';
import { FleetChannel } from './fleet-channel.ts';
import type { Team } from './team.ts';
import type { ToPrimary, ToWorker } from './worker-messages.ts';
import { removeWorkersFolder } from './workers-folder.ts';

type Start = Extract<ToWorker, { kind: 'start' }>;

const COLLECT_MS = 3000;
/** How many milliseconds of counts are lost at most when a worker is killed. */
const REPORT_EVERY_MS = 2000;
/** Longer than the restart of a worker takes. */
const REMOVE_MS = 30_000;

let node: CacheNode | null = null;
let fleet: FleetChannel | null = null;
let allDrained: () => void = () => {};
const drained = new Promise<void>((resolve) => {
  allDrained = resolve;
});
let listenThere: (places: ListenPlaces) => void = () => {};
const whereToListen = new Promise<ListenPlaces>((resolve) => {
  listenThere = resolve;
});
const questions = new Map<number, (answer: ToWorker) => void>();
let lastId = 0;

boundHeapGrowth();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const)
  process.on(signal, () => {});
process.on('message', (message: ToWorker) => {
  void obey(message);
});
tell({ kind: 'hello' });

async function obey(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'start':
      await start(message);
      break;
    case 'listen':
      listenThere(message);
      break;
    case 'report':
      if (node !== null) tell({ kind: 'report', id: message.id, report: node.report() });
      break;
    case 'remove':
      await remove(message.id, message.key);
      break;
    case 'console-part': {
      // A worker that is starting has nothing yet.
      const part = node === null ? null : await answerPart(node.consolePart, message.question);
      tell({ kind: 'console-part', id: message.id, part });
      break;
    }
    case 'history-row':
      node?.consolePart.rowDone(message.row);
      break;
    case 'wrong-token':
      node?.consolePart.noteWrongToken();
      break;
    case 'console-said':
    case 'collected':
    case 'removed':
      questions.get(message.id)?.(message);
      questions.delete(message.id);
      break;
    case 'planned':
    case 'owner-said':
    case 'purge-reach':
    case 'looked':
    case 'pictured':
    case 'fleet-news':
    case 'fleet-secrets':
    case 'fleet-certificates':
      fleet?.receive(message);
      break;
    case 'reload':
      try {
        node?.reload(message.config);
      } catch (error) {
        node?.log.event('error', 'not-reloaded', { problem: error });
      }
      break;
    case 'reopen-logs':
      node?.reopenLogs();
      break;
    case 'all-drained':
      allDrained();
      break;
    case 'stop':
      await node?.close(message.deadlineMs);
      process.exit(0);
  }
}

async function start({
  config,
  index,
  size,
  folder,
  removeFirst,
  token,
  consolePage,
  objectKey,
  fleet: facts,
}: Start): Promise<void> {
  const log = new Log({ level: config.logLevel, format: config.logFormat, fields: { worker: index } });
  const crash = (error: unknown) => {
    log.event('error', 'crashed', {
      problem: error,
      stack: error instanceof Error ? error.stack : undefined,
    });
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  // Called when the primary is gone. node:cluster ends this process on the same event, so this
  // listener must come before its own.
  process.prependListener('disconnect', () => removeWorkersFolder(folder));
  if (facts !== null && config.peers !== null)
    fleet = new FleetChannel({ start: facts, clock: systemClock, budgetMs: config.peers.budgetMs, tell });
  const team: Team = {
    index,
    size,
    fleet,
    token,
    objectKey: Buffer.from(objectKey, 'base64'),
    console: {
      history: (span) => askPrimary({ about: 'history', span }),
      answers: (after) => askPrimary({ about: 'answers', after }),
      busiest: () => askPrimary({ about: 'busiest' }),
      stored: (owner, key) => askPrimary({ about: 'stored', owner, key }),
      wrongToken: () => tell({ kind: 'wrong-token' }),
    },
    socketPath: (worker) => join(folder, `${worker}.sock`),
    removeKey: async (owner, key) => {
      const answer = await ask({ kind: 'remove', id: ++lastId, owner, key }, REMOVE_MS);
      if (answer === null)
        throw new Error(
          `Cannot remove the key: expected an answer of worker ${owner} in ${REMOVE_MS / 1000} s, got none`,
        );
      const { count, problem } = answer as Extract<ToWorker, { kind: 'removed' }>;
      if (problem !== null) throw new Error(problem);
      return count;
    },
    collect: async (own) => {
      const answer = await ask({ kind: 'collect', id: ++lastId, report: own() }, COLLECT_MS);
      if (answer === null)
        throw new Error(
          `Cannot collect the figures: expected an answer of the primary process in ${COLLECT_MS / 1000} s, got none; ask again`,
        );
      return (answer as Extract<ToWorker, { kind: 'collected' }>).report;
    },
    drained: async () => {
      tell({ kind: 'drained' });
      await drained;
    },
  };
  try {
    const places = () => {
      tell({ kind: 'prepared' });
      return whereToListen;
    };
    const started = await startNode(config, { team, log, removeFirst, places, consolePage });
    node = started;
    setInterval(() => tell({ kind: 'report', id: null, report: started.report() }), REPORT_EVERY_MS).unref();
    tell({ kind: 'ready', listen: node.listen, adminListen: node.adminListen });
  } catch (error) {
    tell({ kind: 'failed', message: (error as Error).message });
  }
}

async function askPrimary<T>(question: ConsoleQuestion): Promise<T> {
  const answer = await ask({ kind: 'console', id: ++lastId, question }, COLLECT_MS);
  if (answer === null)
    throw new Error(
      `Cannot ask about the node: expected an answer of the primary process in ${COLLECT_MS / 1000} s, got none`,
    );
  return (answer as Extract<ToWorker, { kind: 'console-said' }>).answer as T;
}

async function remove(id: number, key: string): Promise<void> {
  try {
    const count = node === null ? 0 : await node.removeKey(key);
    tell({ kind: 'removed', id, count, problem: null });
  } catch (error) {
    tell({ kind: 'removed', id, count: 0, problem: (error as Error).message });
  }
}

/** The answer, or null if there was none in time. */
function ask(
  question: Extract<ToPrimary, { kind: 'collect' | 'remove' | 'console' }>,
  timeoutMs: number,
): Promise<ToWorker | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      questions.delete(question.id);
      resolve(null);
    }, timeoutMs);
    questions.set(question.id, (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    tell(question);
  });
}

/** Calls `taken` when the channel has taken the message. */
function tell(message: ToPrimary, taken: () => void = () => {}): void {
  // The primary may end at this very moment; then this process ends soon.
  if (process.connected) process.send?.(message, undefined, undefined, taken);
  else taken();
}
