/**
 * A recorded trace: its figures, and its requests dealt to the nodes of a fleet, as often as asked.
 *
 * Clients are dealt as in Summary Cache (Fan, Cao, Almeida, Broder, 2000): they are numbered, and
 * client number modulo the number of groups is the proxy. Here the numbers follow the order of
 * first sight. A client stays at its node, so a node sees the habits of its clients. A trace
 * without clients is dealt at random, or in turn; both make the nodes more alike than real ones
 * are.
 */

import type { WordSpool } from '@bloomery/files';
import { hashKey } from 'bloomery';
import type { Trace, TraceRequest } from '../trace.ts';
import { RECORD_WORDS, recordViews } from './trace-record.ts';

/** Ways to deal requests to nodes: by client, in turn, or at random. */
export const DEALS = ['clients', 'round-robin', 'random'] as const;
export type Deal = (typeof DEALS)[number];

export interface DealOptions {
  readonly nodes: number;
  /** Default: by clients if the trace has clients, otherwise at random. */
  readonly by?: Deal | undefined;
  /**
   * Requests per second and node. Default: the times of the trace, or 10 per second if it has none.
   */
  readonly ratePerNode?: number | undefined;
  /** For dealing at random. Default 1. */
  readonly seed?: number | undefined;
}

interface Recording {
  readonly spool: WordSpool;
  readonly requests: number;
  /** Length of each object. */
  readonly lengths: Float64Array;
  /** Number of requests for each object. */
  readonly counts: Uint32Array;
  readonly objectsWithoutLength: number;
  /** Distinct clients, or 0 if the trace has none. */
  readonly clients: number;
  readonly hasTimes: boolean;
  readonly outOfOrder: number;
}

const DEFAULT_RATE_PER_NODE = 10;

export class RecordedTrace {
  readonly requests: number;
  readonly clients: number;
  readonly hasTimes: boolean;
  /** Requests whose line was more than a minute earlier than a line before it. */
  readonly outOfOrder: number;
  /** Objects of which no line told the length. */
  readonly objectsWithoutLength: number;
  readonly #spool: WordSpool;
  readonly #lengths: Float64Array;
  readonly #counts: Uint32Array;

  constructor(recording: Recording) {
    this.requests = recording.requests;
    this.clients = recording.clients;
    this.hasTimes = recording.hasTimes;
    this.outOfOrder = recording.outOfOrder;
    this.objectsWithoutLength = recording.objectsWithoutLength;
    this.#spool = recording.spool;
    this.#lengths = recording.lengths;
    this.#counts = recording.counts;
  }

  get objects(): number {
    return this.#lengths.length;
  }

  /** Bytes of all distinct objects: the size of a cache that never evicts. */
  get objectBytes(): number {
    return this.#lengths.reduce((sum, length) => sum + length, 0);
  }

  /** Bytes of all requests, if each moved its whole object. */
  get requestedBytes(): number {
    return this.#lengths.reduce((sum, length, object) => sum + length * this.#counts[object], 0);
  }

  /** Hit ratio of one cache that never evicts: every request but the first for each object. */
  get maxHitRatio(): number {
    return this.requests === 0 ? 0 : 1 - this.objects / this.requests;
  }

  /** The requests, dealt to the nodes of a fleet. */
  deal(options: DealOptions): Trace {
    const by = options.by ?? (this.clients > 0 ? 'clients' : 'random');
    if (!Number.isInteger(options.nodes) || options.nodes < 1)
      throw new RangeError(`Cannot deal a trace: expected at least 1 node, got ${options.nodes}`);
    if (by === 'clients' && this.clients === 0)
      throw new RangeError('Cannot deal a trace by clients: expected clients in it, got none');
    return { [Symbol.iterator]: () => this.#requestsOf({ ...options, by }) };
  }

  /** Frees the temporary file, if there is one. */
  close(): void {
    this.#spool.close();
  }

  *#requestsOf({ nodes, by, ratePerNode, seed = 1 }: DealOptions): Generator<TraceRequest> {
    const rate = ratePerNode ?? (this.hasTimes ? undefined : DEFAULT_RATE_PER_NODE);
    const gapMs = rate === undefined ? 0 : 1000 / (rate * nodes);
    let i = 0;
    for (const part of this.#spool.parts()) {
      const { words, times } = recordViews(part);
      for (let at = 0; at < words.length / RECORD_WORDS; at++, i++) {
        const object = words[RECORD_WORDS * at + 2];
        const client = words[RECORD_WORDS * at + 3];
        yield {
          timeMs: rate === undefined ? times[2 * at] : i * gapMs,
          node: by === 'clients' ? client % nodes : by === 'random' ? randomNode(i, nodes, seed) : i % nodes,
          object,
          bytes: this.#lengths[object],
        };
      }
    }
  }
}

/** A node that looks random and depends on the number of the request and the seed alone. */
function randomNode(request: number, nodes: number, seed: number): number {
  return Math.floor((hashKey(request, { seed }).high / 2 ** 32) * nodes);
}
