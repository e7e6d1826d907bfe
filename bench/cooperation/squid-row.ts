/**
 * Squid and this cache as siblings, with Debian's Squid: who finds what at whom, of objects that
 * the neighbour holds and of as many that it does not hold.
 *
 * Each row has a holder, which has all "held" objects, and an asker with an empty cache, which
 * clients ask for held objects and absent ones in turn. A third row has a Squid on both sides: it
 * is what an operator has today. Every byte is checked. The digests of these Squids are rebuilt
 * each second, because the default of an hour would only make the row longer.
 *
 * Where it breaks down: all objects are there before the digest is fetched, so the row says nothing
 * about the staleness of digests, which is Squid's larger loss in life.
 */

import { Agent, type IncomingMessage, request } from 'node:http';
import { SquidDigest } from 'bloomery/formats/squid';
import { until } from '../../packages/testkit/src/eventually.ts';
import { Fleet } from '../../packages/testkit/src/fleet/fleet.ts';
import type { FleetNode } from '../../packages/testkit/src/fleet/fleet-node.ts';
import { knownBody, knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { type Squid, startSquid } from '../../packages/testkit/src/programs/squid-program.ts';
import { COMMAND, met } from './bench-fleet.ts';

const DIGEST = '/squid-internal-periodic/store_digest';
const OBJECT_BYTES = 500;
/** Objects that only make an asker fetch the digest. */
const WARMING = 50;
/** Clients that fill the holder, and those of a Squid that asks, which has no deadline. */
const CLIENTS = 8;
const ANSWER_MS = 120_000;
/** Time for logs, digests and the first use of one. */
const WAIT_MS = 300_000;
const SIGMAS = 5;
const WANTED = 0.99;
const ALLOWED = new Set(['200', '206', '304', '504']);

/** A question of an asker to the holder, or of a client to the asker. */
interface Answer {
  readonly url: string;
  readonly status: string;
  /** True if the asker had it from the holder. */
  readonly isFromHolder: boolean;
  /** True if the digest of the holder listed it. */
  readonly isListed: boolean;
}

/** A cache of either kind. */
interface Cache extends AsyncDisposable {
  readonly port: number;
  /** The access log so far. */
  answers(): readonly Answer[];
  /** Questions to the holder that were late, or null if it does not count them. */
  late(): Promise<number | null>;
}

interface Urls {
  readonly held: readonly string[];
  readonly absent: readonly string[];
  readonly warming: readonly string[];
}

/** The figures of one row. */
interface SquidFigures {
  readonly listed: number;
  readonly found: number;
  readonly falseHits: number;
  readonly expectedFalse: number;
  readonly late: number | null;
  /** Statuses of the holder's answers to the asker. */
  readonly statuses: readonly string[];
}

export async function squidTable(isQuick: boolean): Promise<string[]> {
  const objects = isQuick ? 400 : 4000;
  const rows: string[] = [];
  for (const [holder, asker] of [
    ['this cache', 'Squid'],
    ['Squid', 'this cache'],
    ['Squid', 'Squid'],
  ] as const) {
    const figures = await measure(holder, asker, objects);
    rows.push(rowOf(holder, asker, objects, figures));
  }
  return [
    `${objects.toLocaleString('en')} objects that the holder has and as many that it has not, asked for in turn after the asker's first fetch of the digest. Every byte of every answer was right. "Listed" is by the holder's digest at the end, and "expected" false hits are those of its density. This cache asks the origin if a Squid is "late", 100 ms at first; a Squid waits for minutes.`,
    '',
    '| holder | asker | listed | came from the holder | wanted | late | false hits | expected | wanted | statuses of the holder |',
    '|---|---|---:|---:|---|---:|---:|---:|---|---|',
    ...rows,
  ];
}

function rowOf(holder: string, asker: string, objects: number, figures: SquidFigures): string {
  const { listed, found, falseHits, expectedFalse, late, statuses } = figures;
  const isPair = holder === asker;
  // This cache is judged by what the digest lists, and a Squid by all that we hold for it.
  const of = holder === 'Squid' ? listed : objects;
  const sigma = Math.sqrt(expectedFalse * (1 - expectedFalse / objects));
  const isExpected = Math.abs(falseHits - expectedFalse) <= SIGMAS * sigma;
  const areAllowed = statuses.every((status) => ALLOWED.has(status));
  const whole = (count: number) => count.toLocaleString('en');
  return `| ${[
    holder,
    asker,
    `${whole(listed)} of ${whole(objects)}`,
    `${whole(found)} (${((100 * found) / of).toFixed(1)} %)`,
    isPair ? '–' : `at least 99 %: ${met(found >= WANTED * of)}`,
    late === null ? '–' : whole(late),
    whole(falseHits),
    expectedFalse.toFixed(0),
    isPair ? '–' : `within ${SIGMAS} sigma: ${met(isExpected)}`,
    `${statuses.join(', ')}${isPair ? '' : `: ${met(areAllowed)}`}`,
  ].join(' | ')} |`;
}

async function measure(
  holderKind: 'this cache' | 'Squid',
  askerKind: 'this cache' | 'Squid',
  objects: number,
): Promise<SquidFigures> {
  await using origin = await ThrottledOrigin.start();
  const named = (name: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${origin.url}${knownPath(`${name}/${at}`, OBJECT_BYTES)}`);
  const urls = {
    held: named('held', objects),
    absent: named('absent', objects),
    warming: named('warm', WARMING),
  };
  await using holder =
    holderKind === 'Squid' ? squidCache(await startSquid()) : await nodeCache({ squidDigest: true });
  await askAll(holder.port, [...urls.held, ...urls.warming]);
  await until(
    'a digest of the holder with its objects',
    async () => {
      const digest = await digestOf(holder.port);
      return digest !== null && urls.held.filter((url) => digest.has(url)).length > 0.9 * objects;
    },
    WAIT_MS,
  );
  await using asker = await startAsker(askerKind, holder.port);
  await untilUsed(asker, urls);
  const before = holder.answers().length;
  await askAll(
    asker.port,
    urls.held.flatMap((url, at) => [url, urls.absent[at]!]),
    askerKind === 'Squid' ? CLIENTS : 1,
  );
  return await figuresOf(holder, asker, urls, before);
}

async function figuresOf(
  holder: Cache,
  asker: Cache,
  { held, absent }: Urls,
  before: number,
): Promise<SquidFigures> {
  const wanted = new Set([...held, ...absent]);
  await until(
    'the log of the asker',
    () => asker.answers().filter(({ url }) => wanted.has(url)).length >= wanted.size,
    WAIT_MS,
  );
  const digest = (await digestOf(holder.port))!;
  const answers = asker.answers().filter(({ url }) => wanted.has(url));
  const isAbsent = new Set(absent);
  const questions = holder
    .answers()
    .slice(before)
    .filter(({ url }) => wanted.has(url));
  return {
    listed: held.filter((url) => digest.has(url)).length,
    found: answers.filter(({ url, isFromHolder }) => !isAbsent.has(url) && isFromHolder).length,
    falseHits: Math.max(
      questions.filter(({ url }) => isAbsent.has(url)).length,
      answers.filter(({ url, isListed }) => isAbsent.has(url) && isListed).length,
    ),
    expectedFalse: absent.length * (digest.onesCount() / digest.bits) ** 4,
    late: await asker.late(),
    statuses: [...new Set(questions.map(({ status }) => status))].sort(),
  };
}

async function startAsker(kind: 'this cache' | 'Squid', holder: number): Promise<Cache> {
  if (kind === 'Squid') return squidCache(await startSquid({ siblings: [holder] }));
  // A busy machine is no reason to go to the origin.
  return nodeCache({ squid: [`http://127.0.0.1:${holder}`], peerBudget: '5s' });
}

/** Asks for other objects until the asker uses the digest. */
async function untilUsed(asker: Cache, { warming }: Urls): Promise<void> {
  let at = 0;
  await until(
    'the first object from the holder',
    async () => {
      await get(asker.port, warming[at++ % warming.length]!);
      return asker.answers().some(({ isFromHolder }) => isFromHolder);
    },
    WAIT_MS,
  );
}

function squidCache(squid: Squid): Cache {
  return {
    port: squid.port,
    answers: () =>
      squid.answers().map(({ url, result, from }) => ({
        url,
        status: result.split('/')[1] ?? '',
        isFromHolder: from.startsWith('CD_SIBLING_HIT'),
        isListed: from.startsWith('CD_SIBLING_HIT'),
      })),
    late: async () => null,
    [Symbol.asyncDispose]: () => squid.stop(),
  };
}

/** The command as it was built, as a forward proxy. */
async function nodeCache(settings: Readonly<Record<string, unknown>>): Promise<Cache> {
  const fleet = await Fleet.start({
    nodes: 1,
    cooperates: false,
    program: (file) => [COMMAND, 'cache', '--config', file],
    settings: () => ({ allowAddress: ['127.0.0.1'], memory: '200MB', ...settings }),
  });
  const [node] = fleet.nodes as [FleetNode];
  return {
    port: node.port,
    answers: () =>
      node.accessLog().map((line) => ({
        url: String(line.url),
        status: String(line.status),
        isFromHolder: line.outcome === 'neighbour',
        isListed: !String(line.neighbours ?? 'no candidate').startsWith('no candidate'),
      })),
    async late() {
      const status = (await node.status()) as { squids?: { squids: { failures: number }[] } | null };
      return status.squids?.squids[0]?.failures ?? null;
    },
    [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose](),
  };
}

/** The digest of a cache, or null while it has none. */
async function digestOf(port: number): Promise<SquidDigest | null> {
  const response = await fetch(`http://127.0.0.1:${port}${DIGEST}`, { headers: { connection: 'close' } });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return response.status === 200 ? SquidDigest.decode(bytes) : null;
}

async function askAll(port: number, urls: readonly string[], clients = CLIENTS): Promise<void> {
  const queue = urls.values();
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const client = async () => {
    for (const url of queue) await get(port, url, agent);
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
}

/** One request through a proxy, whose answer must be the object. */
function get(port: number, url: string, agent?: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const { host, pathname } = new URL(url);
    const asked = request({
      host: '127.0.0.1',
      port,
      path: url,
      headers: { host },
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(agent === undefined ? {} : { agent }),
    });
    asked.on('error', reject);
    asked.on('response', async (answer: IncomingMessage) => {
      try {
        const pieces: Buffer[] = [];
        for await (const piece of answer) pieces.push(piece);
        const isRight = Buffer.concat(pieces).equals(knownBody(pathname));
        if (answer.statusCode !== 200 || !isRight)
          throw new Error(
            `Cannot go on: expected the object ${url}, got ${answer.statusCode} and other bytes`,
          );
        resolve();
      } catch (error) {
        reject(error);
      }
    });
    asked.end();
  });
}
