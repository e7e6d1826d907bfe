/**
 * One comparison as the holder sees it: a snapshot of its objects in buckets, a responder for each
 * bucket that is being compared, and the list of objects that the asker lacks.
 *
 * The holder sends no key during the comparison, and learns none of the asker. It finds out which
 * of its own objects the asker lacks, and the asker reads that list afterwards.
 */

import { Reconciler } from '@bloomery/reconcile';
import {
  type BucketBytes,
  encodeCompareAnswer,
  encodeListAnswer,
  encodeOpenAnswer,
  type WarmObject,
} from './decisions/warm-message.ts';
import type { ObjectBuckets } from './object-buckets.ts';
import { itemOf } from './offered-objects.ts';

/** Bounds of the session for one bucket, on both sides. */
export const BUCKET_LIMITS = { maxBytes: 2 ** 20, maxSymbols: 4096 };
/** Objects of one page of the list, and its characters, about. */
const PAGE_OBJECTS = 1000;
const PAGE_CHARACTERS = 200_000;

export interface WarmOfferOptions extends ObjectBuckets {
  /** The name of the comparison: 16 hexadecimal digits. */
  readonly session: string;
  readonly random: () => Uint8Array;
  readonly pause: () => Promise<void>;
}

interface BucketState {
  readonly responder: Reconciler;
  readonly objects: ReadonlyMap<string, WarmObject>;
}

export class WarmOffer {
  readonly session: string;
  readonly #options: WarmOfferOptions;
  readonly #running = new Map<number, BucketState>();
  readonly #compared = new Set<number>();
  readonly #lacking: WarmObject[] = [];
  #turn = 0;
  #lastAnswer: Uint8Array | null = null;

  constructor(options: WarmOfferOptions) {
    this.#options = options;
    this.session = options.session;
  }

  opening(): Uint8Array {
    const { buckets, sums } = this.#options;
    const objects = buckets.reduce((sum, bucket) => sum + bucket.length, 0);
    return encodeOpenAnswer({ session: this.session, objects, sums });
  }

  /**
   * The answer to bytes of the asker, or null if they do not belong here. A turn that comes twice
   * gets the same answer. Throws a `ReconcileError` for bytes that no correct node sends.
   */
  async compare(turn: number, asked: readonly BucketBytes[]): Promise<Uint8Array | null> {
    if (turn === this.#turn && this.#lastAnswer !== null) return this.#lastAnswer;
    if (turn !== this.#turn + 1) return null;
    this.#turn = turn;
    this.#lastAnswer = null;
    const answers: BucketBytes[] = [];
    for (const { bucket, bytes } of asked) {
      if (bucket >= this.#options.buckets.length || this.#compared.has(bucket)) return null;
      answers.push({ bucket, bytes: this.#take(bucket, bytes) });
      await this.#options.pause();
    }
    this.#lastAnswer = encodeCompareAnswer(answers);
    return this.#lastAnswer;
  }

  /** A page of the objects that the asker lacks. */
  list(from: number): Uint8Array {
    const objects: WarmObject[] = [];
    let characters = 0;
    for (const object of this.#lacking.slice(from, from + PAGE_OBJECTS)) {
      characters += itemOf(object).length + 32;
      if (objects.length > 0 && characters > PAGE_CHARACTERS) break;
      objects.push(object);
    }
    return encodeListAnswer({ total: this.#lacking.length, objects });
  }

  #take(bucket: number, bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0 && !this.#running.has(bucket)) {
      // The asker has nothing in this bucket.
      this.#finish(bucket, this.#options.buckets[bucket]!);
      return bytes;
    }
    const { responder, objects } = this.#state(bucket);
    responder.receive(bytes);
    const pieces: Uint8Array[] = [];
    for (let piece = responder.pull(); piece !== null; piece = responder.pull()) pieces.push(piece);
    if (responder.done) {
      this.#running.delete(bucket);
      this.#finish(
        bucket,
        responder.result.onlyHere.map((text) => objects.get(text as string)!),
      );
    }
    return Buffer.concat(pieces);
  }

  #finish(bucket: number, lacking: readonly WarmObject[]): void {
    this.#compared.add(bucket);
    this.#lacking.push(...lacking);
  }

  #state(bucket: number): BucketState {
    const known = this.#running.get(bucket);
    if (known !== undefined) return known;
    const objects = new Map(this.#options.buckets[bucket]!.map((object) => [itemOf(object), object]));
    const random = this.#options.random();
    const responder = new Reconciler([...objects.keys()], { role: 'responder', random, ...BUCKET_LIMITS });
    const state = { responder, objects };
    this.#running.set(bucket, state);
    return state;
  }
}
