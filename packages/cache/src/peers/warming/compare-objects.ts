/**
 * The comparison as the asking node makes it: opens it at the holder, reconciles the buckets whose
 * sums differ, some at a time, and reads the list of objects that are missing here.
 *
 * The holder is another node, so everything that it sends is bounded: its buckets, the turns and
 * bytes of a comparison, the length of the list. A list that does not grow ends the comparison.
 */

import { ReconcileError, Reconciler } from '@bloomery/reconcile';
import type { SecretKey } from 'bloomery';
import {
  type BucketBytes,
  decodeCompareAnswer,
  decodeListAnswer,
  decodeOpenAnswer,
  encodeWarmRequest,
  type WarmObject,
  type WarmRequest,
} from './decisions/warm-message.ts';
import { intoBuckets } from './object-buckets.ts';
import { itemOf, MOST_OBJECTS } from './offered-objects.ts';
import { WarmError } from './warm-error.ts';
import { BUCKET_LIMITS } from './warm-offer.ts';

export interface CompareOptions {
  /** The objects of this node. */
  readonly own: readonly WarmObject[];
  readonly keyId: number;
  readonly key: SecretKey;
  /** Sends a request to the holder. */
  readonly ask: (body: Uint8Array) => Promise<Uint8Array>;
  readonly random: () => Uint8Array;
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface Comparison {
  /** Objects of the holder. */
  readonly offered: number;
  readonly lacking: readonly WarmObject[];
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly requests: number;
}

/** Buckets that are reconciled at a time. */
const BUCKETS_AT_ONCE = 16;
/** A bucket needs about four turns; a holder that never agrees is given up. */
const MOST_TURNS = 64;
/** Bytes of all answers. A list of a million URLs takes about 100 MB. */
const MOST_BYTES = 256 * 2 ** 20;

export async function compareObjects(options: CompareOptions): Promise<Comparison> {
  const { own, keyId, key, pause, signal } = options;
  const link = new Link(options);
  const opened = decodeOpenAnswer(await link.ask({ kind: 'open', keyId, objects: own.length }));
  if (opened === null) throw malformed('the opening');
  const count = opened.sums.length / 2;
  const { buckets, sums } = await intoBuckets(own, count, key, pause);
  const differing = Array.from({ length: count }, (_, at) => at).filter(
    (at) => sums[2 * at] !== opened.sums[2 * at] || sums[2 * at + 1] !== opened.sums[2 * at + 1],
  );
  let turn = 0;
  for (let at = 0; at < differing.length; at += BUCKETS_AT_ONCE) {
    let running = differing
      .slice(at, at + BUCKETS_AT_ONCE)
      .map((bucket) => new BucketAsk(bucket, buckets[bucket]!, options));
    for (let rounds = 0; running.length > 0; rounds++) {
      if (rounds >= MOST_TURNS) throw new WarmError('limit', `expected agreement in ${MOST_TURNS} turns`);
      signal.throwIfAborted();
      const question: BucketBytes[] = [];
      for (const each of running) {
        question.push(each.question());
        await pause();
      }
      const { session } = opened;
      const answer = decodeCompareAnswer(
        await link.ask({ kind: 'compare', session, turn: ++turn, buckets: question }),
      );
      if (answer === null || answer.length !== running.length) throw malformed('a comparison');
      for (const [place, each] of running.entries()) {
        each.take(answer[place]!);
        await pause();
      }
      running = running.filter(({ isDone }) => !isDone);
    }
  }
  const lacking = await readList(link, opened.session, signal);
  return { offered: opened.objects, lacking, ...link.traffic };
}

async function readList(link: Link, session: string, signal: AbortSignal): Promise<WarmObject[]> {
  const lacking: WarmObject[] = [];
  for (;;) {
    signal.throwIfAborted();
    const page = decodeListAnswer(await link.ask({ kind: 'list', session, from: lacking.length }));
    if (page === null) throw malformed('the list');
    if (page.total > MOST_OBJECTS)
      throw new WarmError('limit', `expected at most ${MOST_OBJECTS} objects, got ${page.total}`);
    lacking.push(...page.objects);
    if (lacking.length >= page.total) return lacking.slice(0, page.total);
    if (page.objects.length === 0) throw malformed('the list');
  }
}

/** The requests of one comparison, and their bytes. */
class Link {
  readonly #ask: CompareOptions['ask'];
  #sent = 0;
  #received = 0;
  #requests = 0;

  constructor({ ask }: CompareOptions) {
    this.#ask = ask;
  }

  get traffic(): { bytesSent: number; bytesReceived: number; requests: number } {
    return { bytesSent: this.#sent, bytesReceived: this.#received, requests: this.#requests };
  }

  async ask(request: WarmRequest): Promise<Uint8Array> {
    const body = encodeWarmRequest(request);
    const answer = await this.#ask(body);
    this.#sent += body.length;
    this.#received += answer.length;
    this.#requests++;
    if (this.#received > MOST_BYTES)
      throw new WarmError('limit', `expected at most ${MOST_BYTES} bytes, got ${this.#received}`);
    if (answer.length === 2 && answer[0] === 1 && answer[1] === 0)
      throw new WarmError('gone', 'expected the comparison to go on, got a neighbour that forgot it');
    if (answer.length === 2 && answer[0] === 1 && answer[1] === 4)
      throw new WarmError('busy', 'expected a free neighbour, got one that serves other warm-ups');
    return answer;
  }
}

/** The asking side of one bucket. */
class BucketAsk {
  readonly #bucket: number;
  /** The session, or null if this node has nothing in the bucket, so that all of it is missing. */
  readonly #session: Reconciler | null;
  #isDone = false;

  constructor(bucket: number, own: readonly WarmObject[], { random }: CompareOptions) {
    this.#bucket = bucket;
    this.#session =
      own.length === 0
        ? null
        : new Reconciler(own.map(itemOf), { role: 'initiator', random: random(), ...BUCKET_LIMITS });
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  question(): BucketBytes {
    const pieces: Uint8Array[] = [];
    for (let piece = this.#session?.pull(); piece; piece = this.#session?.pull()) pieces.push(piece);
    return { bucket: this.#bucket, bytes: Buffer.concat(pieces) };
  }

  take({ bucket, bytes }: BucketBytes): void {
    if (bucket !== this.#bucket) throw malformed('a comparison');
    if (this.#session === null) {
      this.#isDone = true;
      return;
    }
    try {
      this.#session.receive(bytes);
      this.#isDone = this.#session.done;
    } catch (cause) {
      if (!(cause instanceof ReconcileError)) throw cause;
      throw new WarmError(cause.code === 'limit' ? 'limit' : 'malformed', cause.message, { cause });
    }
  }
}

function malformed(what: string): WarmError {
  return new WarmError('malformed', `expected ${what} as docs/spec/peer-warm.md has it, got other bytes`);
}
