/**
 * The network as the operator describes it: collectors with their addresses, and links between
 * them. A collector stands for a router, or for a group of routers behind one capture.
 *
 *     { "start": "r1",
 *       "collectors": { "r1": { "url": "http://10.0.0.1:4780", "tokenFile": "r1.token" }, "r2": {} },
 *       "links": [["r1", "r2"]] }
 *
 * A router without a collector is listed without a `url`. It counts as silent, and the trace goes
 * round it.
 */

import { TracebackError } from '../traceback-error.ts';

export interface CollectorEntry {
  readonly url?: string;
  /** The token itself, or the file that holds it. */
  readonly token?: string;
  readonly tokenFile?: string;
}

export interface Topology {
  /** The collector at the victim, where traces begin. */
  readonly start: string | null;
  readonly collectors: ReadonlyMap<string, CollectorEntry>;
  /** Neighbours of each collector. */
  readonly neighbours: ReadonlyMap<string, readonly string[]>;
}

const MOST_BYTES = 64 << 20;
const MOST_COLLECTORS = 1_000_000;
const NAMES: readonly string[] = ['url', 'token', 'tokenFile'];

/** Reads a topology. Throws a `TracebackError` that names the place of a mistake. */
export function parseTopology(text: string): Topology {
  if (text.length > MOST_BYTES) throw wrong('the file', `at most ${MOST_BYTES} bytes`, `${text.length}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TracebackError(
      'topology',
      `Cannot read the topology: expected JSON, got: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
  if (!isObject(value)) throw wrong('the file', 'an object', shown(value));
  const { start = null, collectors, links, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw wrong('the file', 'start, collectors and links', shown(unknown));
  if (!isObject(collectors)) throw wrong('collectors', 'an object', shown(collectors));
  const entries = new Map(Object.entries(collectors).map(([id, entry]) => [id, parseEntry(id, entry)]));
  if (entries.size > MOST_COLLECTORS)
    throw wrong('collectors', `at most ${MOST_COLLECTORS}`, `${entries.size}`);
  if (start !== null && !(typeof start === 'string' && entries.has(start))) {
    throw wrong('start', 'the name of a collector', shown(start));
  }
  return { start: start as string | null, collectors: entries, neighbours: parseLinks(links, entries) };
}

/** A topology from names and links, for programs. */
export function topologyOf(names: Iterable<string>, links: Iterable<readonly [string, string]>): Topology {
  const collectors = new Map([...names].map((name) => [name, {}]));
  return { start: null, collectors, neighbours: parseLinks([...links], collectors) };
}

function parseEntry(id: string, entry: unknown): CollectorEntry {
  const where = `collectors.${id}`;
  if (!isObject(entry)) throw wrong(where, 'an object', shown(entry));
  for (const [name, value] of Object.entries(entry)) {
    if (!NAMES.includes(name)) throw wrong(where, NAMES.join(', '), shown(name));
    if (typeof value !== 'string') throw wrong(`${where}.${name}`, 'text', shown(value));
  }
  const { url } = entry as CollectorEntry;
  if (url !== undefined && !/^https?:\/\/[^/]/.test(url))
    throw wrong(`${where}.url`, 'http://HOST:PORT', shown(url));
  return entry as CollectorEntry;
}

function parseLinks(
  links: unknown,
  collectors: ReadonlyMap<string, CollectorEntry>,
): ReadonlyMap<string, readonly string[]> {
  if (!Array.isArray(links)) throw wrong('links', 'an array', shown(links));
  const neighbours = new Map([...collectors.keys()].map((id) => [id, new Set<string>()]));
  for (const [i, link] of links.entries()) {
    const where = `links[${i}]`;
    if (!Array.isArray(link) || link.length !== 2) throw wrong(where, 'two names', shown(link));
    const [a, b] = link as [string, string];
    for (const name of [a, b]) {
      if (!collectors.has(name)) throw wrong(where, 'names of collectors', shown(name));
    }
    if (a === b) throw wrong(where, 'two different collectors', shown(link));
    neighbours.get(a)?.add(b);
    neighbours.get(b)?.add(a);
  }
  return new Map([...neighbours].map(([id, set]) => [id, [...set]]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 60);
}

function wrong(where: string, expected: string, got: string): TracebackError {
  return new TracebackError(
    'topology',
    `Cannot read the topology: expected ${expected}, got ${got} (${where})`,
  );
}
