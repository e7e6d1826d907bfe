/**
 * The memory of one process about its answers, for the console: the last 200 of them, and the
 * objects that it is asked for most. It is called for each request, so it keeps the record as it
 * is. URLs are made fit to be shown when the console asks.
 *
 * URLs can be private (docs/spec/console.md, "URLs"). Unless the operator shows them, an object is
 * named by a keyed hash, under a key that is drawn at each start of the node.
 */

import { createHmac } from 'node:crypto';
import { hasSecretQuery } from '../../policy/secret-queries.ts';
import type { AnswerOutcome, AnswerRecord } from '../../proxy/proxy-observer.ts';
import { publicUrl } from '../log/log-privacy.ts';
import { BusyObjects } from './busy-objects.ts';

/** An answer without the number that it has in the whole node. */
export interface LocalAnswer {
  readonly at: number;
  readonly method: string;
  readonly url: string | null;
  readonly object: string | null;
  readonly status: number;
  readonly outcome: AnswerOutcome;
  readonly reason: string;
  readonly cacheStatus: string | null;
  readonly neighbour: string | null;
  readonly neighbours: string | null;
  readonly notStored: string | null;
  readonly bytesSent: number;
  readonly bytesFromOrigin: number;
  readonly bytesFromNeighbours: number;
  readonly durationMs: number;
  readonly isAborted: boolean;
}

export interface BusyObject {
  readonly url: string | null;
  readonly object: string;
  readonly count: number;
  readonly atLeast: number;
}

export interface BusyPart {
  readonly since: number;
  readonly total: number;
  readonly objects: readonly BusyObject[];
}

/** The part of one process in the console's memory. It is plain data that survives JSON. */
export interface AnswersPart {
  /** Answers of this process so far. */
  readonly count: number;
  /** The last of them, the oldest first, as far as they are new. */
  readonly answers: readonly LocalAnswer[];
}

export const KEPT_ANSWERS = 200;
/** A note about neighbours names each candidate, and there may be hundreds. */
const LONGEST_TEXT = 2000;

export class AnswerRecorder {
  readonly #busy: BusyObjects;
  readonly #objectKey: Uint8Array;
  readonly #showsUrls: () => boolean;
  readonly #records: AnswerRecord[] = [];
  #count = 0;

  constructor(options: {
    readonly clock: () => number;
    /** The secret for the names of objects, the same in all processes of a node. */
    readonly objectKey: Uint8Array;
    readonly showsUrls: () => boolean;
  }) {
    this.#busy = new BusyObjects(options.clock);
    this.#objectKey = options.objectKey;
    this.#showsUrls = options.showsUrls;
  }

  /** Notes one answer. It is called for each request. */
  add(record: AnswerRecord): void {
    this.#records[this.#count++ % KEPT_ANSWERS] = record;
    const { outcome } = record;
    if (outcome !== 'tunnel' && outcome !== 'refused') this.#busy.add(record.url, record.at);
  }

  /** The answers after the first `after` ones. */
  part(after: number): AnswersPart {
    const count = this.#count;
    const first = Math.max(after, count - KEPT_ANSWERS, 0);
    const answers: LocalAnswer[] = [];
    for (let i = first; i < count; i++) answers.push(this.#shown(this.#records[i % KEPT_ANSWERS]!));
    return { count, answers };
  }

  busyPart(): BusyPart {
    const { since, total, keys } = this.#busy.list();
    return {
      since,
      total,
      objects: keys.map(({ key, count, atLeast }) => ({
        url: this.#showsUrls() && !hasSecretQuery(key) ? publicUrl(key) : null,
        object: this.objectName(key),
        count,
        atLeast,
      })),
    };
  }

  /** The name of an object where its URL is not shown: 12 hexadecimal digits of a keyed hash. */
  objectName(key: string): string {
    return createHmac('sha256', this.#objectKey).update(key).digest('hex').slice(0, 12);
  }

  #shown(record: AnswerRecord): LocalAnswer {
    const isObject = record.outcome !== 'tunnel' && record.outcome !== 'refused';
    return {
      at: record.at,
      method: record.method,
      url: this.#showsUrls() ? publicUrl(record.url) : null,
      object: isObject ? this.objectName(record.url) : null,
      status: record.status,
      outcome: record.outcome,
      reason: record.reason,
      cacheStatus: record.cacheStatus ?? statusIn(record.fields),
      neighbour: record.neighbour ?? null,
      neighbours: record.neighbours?.slice(0, LONGEST_TEXT) ?? null,
      notStored: record.notStored ?? null,
      bytesSent: record.bytesOut,
      bytesFromOrigin: record.bytesFromOrigin,
      bytesFromNeighbours: record.bytesFromNeighbours ?? 0,
      durationMs: Math.round(record.durationMs * 10) / 10,
      isAborted: record.aborted,
    };
  }
}

/** This node's member of Cache-Status, which is the last line of that name. */
function statusIn(fields: readonly string[] | undefined): string | null {
  if (fields === undefined) return null;
  for (let at = fields.length - 2; at >= 0; at -= 2)
    if (fields[at] === 'Cache-Status') return fields[at + 1] ?? null;
  return null;
}
