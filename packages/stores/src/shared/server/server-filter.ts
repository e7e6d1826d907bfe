/**
 * One filter on the server, for questions that must have one answer for all processes: `addIfNew`
 * tests and sets in one step, so "certainly new" is said once for a key, whichever process asks.
 * `createSharedFilter` cannot promise that, because two processes may both not have heard of an
 * add. It answers in memory, and this one with a round trip.
 *
 * What it promises. `addIfNew` answers true for a key at most once, among all processes, as long as
 * the server keeps what it acknowledged. False means "maybe seen": a false positive, or a key that
 * was seen. So a true answer may skip an exact check, and a false one needs it.
 *
 * Where a server loses data. After a failover or a restart all answers are "maybe" for `settleMs`.
 * In this time every process tells the server how many calls it knows of. If the server has fewer,
 * it lost some, and all answers stay "maybe" until a caller accepts the loss (`accept`) and begins
 * an empty filter. The same happens after FLUSHALL. A loss that no living process knows of stays
 * unnoticed; `durability: 'wait'` prevents it, because an answer then waits for the replicas.
 *
 * A call that fails may have been done: ask again, and the answer may be "maybe" for a key that is
 * new. The other mistake is not possible.
 */

import { type AbortSignalLike, type HashScheme, hashKeys, type Key, type KeyBatch } from 'bloomery';
import { packHashes } from '../decisions/log-entry.ts';
import { packProbes, serverStage } from '../decisions/split-blocks.ts';
import type { StageSize } from '../decisions/stage-plan.ts';
import { SharedFilterError } from '../shared-filter-error.ts';
import type { ServerLink } from './server-link.ts';

/** The engine on the server: blocks in strings, or the BF. commands of Redis 8 and its module. */
export type ServerEngine = 'blocks' | 'bf';

export interface ServerFilterStats {
  /** 'unsure': every answer is "maybe", and `reason` says why. */
  readonly state: 'live' | 'unsure';
  readonly reason: ServerVerdict;
  readonly engine: ServerEngine;
  readonly stages: number;
  /** Keys that were certainly new, of all processes. */
  readonly size: number;
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/**
 * 'moved': another server took over, and members still compare what they know. 'doubted': the
 * server lost keys. 'missing': it has no filter. 'lineage': another filter took its place.
 */
export type ServerVerdict = 'ok' | 'moved' | 'doubted' | 'missing' | 'lineage' | 'away';

export interface CallOptions {
  /** Gives up waiting. The call may be done all the same. */
  readonly signal?: AbortSignalLike;
}

/** Keys in one call, so that no call holds the server for long. */
const MOST_KEYS = 250;
/** Calls that are under way at once. */
const MOST_CALLS = 16;

interface Waiting {
  readonly low: number;
  readonly high: number;
  readonly resolve: (isNew: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export class ServerFilter implements AsyncDisposable {
  readonly name: string;
  readonly #link: ServerLink;
  readonly #scheme: HashScheme;
  #waiting: Waiting[] = [];

  /** @internal */
  constructor(name: string, link: ServerLink, scheme: HashScheme) {
    this.name = name;
    this.#link = link;
    this.#scheme = scheme;
  }

  get state(): 'live' | 'unsure' {
    return this.#link.verdict === 'ok' ? 'live' : 'unsure';
  }

  /**
   * Adds a key. True if it was certainly new, which is said once among all processes; false if it
   * may have been added before. Keys of the same turn of the event loop travel together.
   */
  addIfNew(key: Key, { signal }: CallOptions = {}): Promise<boolean> {
    const { words } = hashKeys([key], this.#scheme);
    const answer = new Promise<boolean>((resolve, reject) => {
      if (this.#waiting.push({ low: words[0], high: words[1], resolve, reject }) === 1)
        setImmediate(() => void this.#sendWaiting());
    });
    return orAborted(answer, signal);
  }

  /** One byte per key, in order: 1 certainly new, 0 maybe seen. A repeated key is new only once. */
  addManyIfNew(keys: KeyBatch, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return orAborted(this.#run('claim', hashKeys(keys, this.#scheme).words), signal);
  }

  /** True if the key may have been added by any process, false if it certainly was not. */
  async has(key: Key, options: CallOptions = {}): Promise<boolean> {
    return (await this.hasMany([key], options))[0] === 1;
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return orAborted(this.#run('ask', hashKeys(keys, this.#scheme).words), signal);
  }

  /** Resolves when the filter is live. Rejects if the server lost keys, because that stays. */
  ready({ signal, timeoutMs }: CallOptions & { readonly timeoutMs?: number } = {}): Promise<void> {
    return orAborted(this.#link.ready(timeoutMs), signal);
  }

  /**
   * Accepts that the server lost keys: begins an empty filter, for all processes. Keys that were
   * lost are called new once more.
   */
  async accept({ signal }: CallOptions = {}): Promise<void> {
    await orAborted(this.#link.accept(), signal);
  }

  /** Counts of this moment, by one question to the server. */
  async stats({ signal }: CallOptions = {}): Promise<ServerFilterStats> {
    await orAborted(this.#link.look(), signal);
    const { verdict, facts } = this.#link;
    return { state: this.state, reason: verdict, ...facts };
  }

  async close(): Promise<void> {
    this.#link.close();
    for (const { reject } of this.#waiting.splice(0)) reject(closedError());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #sendWaiting(): Promise<void> {
    const sent = this.#waiting;
    this.#waiting = [];
    const words = new Int32Array(2 * sent.length);
    for (const [i, { low, high }] of sent.entries()) words.set([low, high], 2 * i);
    try {
      const answers = await this.#run('claim', words);
      for (const [i, { resolve }] of sent.entries()) resolve(answers[i] === 1);
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }

  /** Sends keys in batches, several under way at once, and puts their answers together. */
  async #run(name: 'claim' | 'ask', words: Int32Array): Promise<Uint8Array> {
    const answers = new Uint8Array(words.length / 2);
    const starts = Array.from({ length: Math.ceil(answers.length / MOST_KEYS) }, (_, i) => i * MOST_KEYS);
    const work = async () => {
      for (let start = starts.shift(); start !== undefined; start = starts.shift()) {
        const part = words.subarray(2 * start, 2 * (start + MOST_KEYS));
        const packed = packedFor(this.#link.facts.engine, part);
        const reply = await this.#link.step(name, packed, part.length / 2);
        // "Maybe seen" is 0 for a claim and 1 for a question.
        if (reply === null) answers.fill(name === 'claim' ? 0 : 1, start, start + MOST_KEYS);
        else for (let i = 0; i < reply.length; i++) answers[start + i] = Number(reply[i]);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MOST_CALLS, starts.length) }, work));
    return answers;
  }
}

function packedFor(engine: ServerEngine, words: Int32Array): Uint8Array {
  return engine === 'bf' ? packHashes(words) : packProbes(words);
}

/** The sizes of the first stage, for the function that makes a filter. */
export function firstStage(engine: ServerEngine, size: StageSize): { blocks: number; capacity: number } {
  return engine === 'bf' ? { blocks: 0, capacity: size.capacity } : serverStage(size, 0);
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
  if (signal === undefined) return work;
  let abort = () => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      abort = () => reject(signal.reason);
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort);
      work.then(resolve, reject);
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function closedError(): SharedFilterError {
  return new SharedFilterError(
    'closed',
    'Cannot use the filter: expected an open one, got one that was closed',
  );
}
