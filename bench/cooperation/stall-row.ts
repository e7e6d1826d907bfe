/**
 * Summaries do not hold the event loop: one publisher of a million objects with 5 % replaced each
 * second and 64 subscribers, and one subscriber of 64 publishers of 100,000 objects with 1 %
 * replaced each second. Measured is the delay of the event loop of the one, at rest and under
 * change.
 *
 * The changes of a publisher are made in its own process, where a store would make them. So the
 * publisher's delay contains the hashing of the keys and the ledger of the keeper. They come in
 * lots of 1 ms, the shortest time of a timer. With lots of 5 ms, 250 changes at a time, most of the
 * delay was that of the lots themselves; a store has one change per request. A process that was
 * held up does not make all changes at once that it owes, so the table says how many there were.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { met } from './bench-fleet.ts';

export type StallOrder =
  | {
      readonly kind: 'publish';
      readonly publishers: number;
      readonly objects: number;
      readonly neighbours: number;
    }
  | { readonly kind: 'read'; readonly ports: readonly number[]; readonly readers: number }
  | { readonly kind: 'subscribe'; readonly ports: readonly number[]; readonly objects: number }
  | { readonly kind: 'churn'; readonly perSecond: number }
  | { readonly kind: 'count' }
  | { readonly kind: 'measure'; readonly seconds: number };

export interface StallReply {
  readonly ports?: readonly number[];
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly maxMs?: number;
  readonly cpuShare?: number;
  readonly bytes?: number;
  readonly updates?: number;
  /** Objects replaced so far. */
  readonly replaced?: number;
}

const MOST_RISE_MS = 5;
/** Time for the first updates after a change of the load. */
const SETTLE_SECONDS = 3;

export async function stallTable(isQuick: boolean): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-stall-'));
  try {
    const program = join(folder, 'stall-process.mjs');
    await build({
      entryPoints: [fileURLToPath(new URL('./stall-process.ts', import.meta.url))],
      outfile: program,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    });
    return [
      'Delay of the event loop of the one process, in ms, by timers of 1 ms. The pace is that of the default',
      '`--peer-bandwidth`, 125 kB per second and neighbour.',
      '',
      '| measured | state | replaced per second | p50 | p99 | longest | CPU, share of a core | messages | MB of messages | p99 rises by | wanted |',
      '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|',
      ...(await publisherRows(program, isQuick)),
      ...(await subscriberRows(program, isQuick)),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function publisherRows(program: string, isQuick: boolean): Promise<string[]> {
  const objects = isQuick ? 100_000 : 1_000_000;
  const readers = isQuick ? 8 : 64;
  using publisher = new Player(program);
  using others = new Player(program);
  const { ports = [] } = await publisher.order({
    kind: 'publish',
    publishers: 1,
    objects,
    neighbours: readers,
  });
  await others.order({ kind: 'read', ports, readers });
  const name = `publisher of ${objects.toLocaleString('en')}, ${readers} subscribers`;
  return await compared(name, `5 % replaced each second`, publisher, publisher, 0.05 * objects, isQuick);
}

async function subscriberRows(program: string, isQuick: boolean): Promise<string[]> {
  const objects = isQuick ? 10_000 : 100_000;
  const publishers = isQuick ? 8 : 64;
  using subscriber = new Player(program);
  using others = new Player(program);
  const { ports = [] } = await others.order({ kind: 'publish', publishers, objects, neighbours: publishers });
  await subscriber.order({ kind: 'subscribe', ports, objects });
  const name = `subscriber of ${publishers} publishers of ${objects.toLocaleString('en')}`;
  const change = '1 % replaced each second';
  return await compared(name, change, subscriber, others, 0.01 * objects * publishers, isQuick);
}

/** Measures one process at rest and while another, or the same, changes objects. */
async function compared(
  name: string,
  change: string,
  measured: Player,
  changing: Player,
  perSecond: number,
  isQuick: boolean,
): Promise<string[]> {
  const seconds = isQuick ? 3 : 20;
  await measured.order({ kind: 'measure', seconds: SETTLE_SECONDS });
  const rest = await measured.order({ kind: 'measure', seconds });
  await changing.order({ kind: 'churn', perSecond });
  await measured.order({ kind: 'measure', seconds: SETTLE_SECONDS });
  const before = await changing.order({ kind: 'count' });
  const busy = await measured.order({ kind: 'measure', seconds });
  const after = await changing.order({ kind: 'count' });
  const rate = Math.round((after.replaced! - before.replaced!) / seconds);
  const rise = busy.p99Ms! - rest.p99Ms!;
  const row = (state: string, replaced: number, reply: StallReply, end: string) =>
    `| ${name} | ${state} | ${replaced.toLocaleString('en')} | ${reply.p50Ms!.toFixed(2)} | ${reply.p99Ms!.toFixed(2)} | ${reply.maxMs!.toFixed(1)} | ${reply.cpuShare!.toFixed(2)} | ${reply.updates || '–'} | ${(reply.bytes! / 1e6).toFixed(2)} | ${end} |`;
  return [
    row('at rest', 0, rest, ' | '),
    row(change, rate, busy, `${rise.toFixed(2)} | less than ${MOST_RISE_MS} ms: ${met(rise < MOST_RISE_MS)}`),
  ];
}

/** A process of stall-process.ts. */
class Player implements Disposable {
  readonly #child: ChildProcess;

  constructor(program: string) {
    this.#child = fork(program, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  }

  order(order: StallOrder): Promise<StallReply> {
    return new Promise((resolve, reject) => {
      const ended = () =>
        reject(new Error(`Cannot measure: expected an answer to ${order.kind}, got the end`));
      this.#child.once('exit', ended);
      this.#child.once('message', (reply) => {
        this.#child.off('exit', ended);
        resolve(reply as StallReply);
      });
      this.#child.send(order);
    });
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}
