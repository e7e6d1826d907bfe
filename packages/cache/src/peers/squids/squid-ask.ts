/**
 * One question to one Squid, and its answer:
 *
 * ```
 * GET http://example.org/a HTTP/1.1
 * Host: example.org
 * Accept-Encoding: gzip                    fields that select a variant (objects/object-request.ts)
 * Cache-Control: max-age=60, only-if-cached
 * Via: 1.1 node-a                          after the Via of the client, so that Squid sees a loop
 * ```
 *
 * 504 is a refusal. A 200 is an object if this node could store and share it as it is: it is fresh,
 * for all clients, and selected by fields that the Squid knew. Every other status means that the
 * Squid does not serve this node, and counts as a failure.
 *
 * **The bytes have no proof.** A neighbour of the fleet signs every piece; a Squid sends plain
 * HTTP. This node checks the length. A body that ends early is never passed on as whole: a short
 * one is held back until all of it is there, and of a long one the rest is fetched elsewhere, or
 * the answer to the client is cut.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '@bloomery/transport';
import { combinedValue, fieldValue } from '../../policy/fields.ts';
import type { RequestHead, ResponseHead } from '../../policy/message-head.ts';
import { expectedBodyLength } from '../../policy/storing.ts';
import type { OriginClient } from '../../proxy/origin/origin-client.ts';
import type { SourceFetch } from '../../proxy/response-source.ts';
import type { AskListener } from '../neighbour-ask.ts';
import type { BodyEnd, Neighbour, NeighbourReport, QuestionEnd } from '../neighbour-port.ts';
import { freshnessWishes, selectingFields } from '../objects/object-request.ts';
import { StallWatch } from '../stall-watch.ts';

export interface SquidAskTools {
  readonly clock: Clock;
  readonly client: Pick<OriginClient, 'fetch'>;
  /** The Via field of this node. */
  readonly via: () => string;
  /** Whether this node could use a response for all its clients. */
  readonly accepts: (request: RequestHead, head: ResponseHead) => boolean;
  readonly report: (report: NeighbourReport) => void;
}

/** Bodies up to this length are passed on only as a whole. */
const SHORT_BYTES = 65_536;
/** A refusal up to this length is read, so that its connection can be used again. */
const SHORT_REFUSAL = 16_384;
/**
 * A body in which nothing arrives for this time has stalled. It is longer than for a neighbour of
 * the fleet, because a Squid that is receiving the object itself sends no beat.
 */
const STALL_MS = 10_000;

export class SquidAsk {
  readonly neighbour: Neighbour;
  /** Squids mark nothing. */
  readonly isHot = false;
  listener: AskListener;
  readonly #tools: SquidAskTools;
  readonly #request: RequestHead;
  readonly #began: number;
  readonly #hash = createHash('sha256');
  readonly #stall: StallWatch;
  #fetch: SourceFetch | null = null;
  #phase: 'asked' | 'held' | 'body' | 'over' = 'asked';
  #head: ResponseHead | null = null;
  #length: number | null = null;
  #bytes = 0;
  /** A short body, until all of it is there. */
  #held: Buffer[] = [];
  #paused = false;

  constructor(tools: SquidAskTools, neighbour: Neighbour, request: RequestHead, listener: AskListener) {
    this.#tools = tools;
    this.neighbour = neighbour;
    this.#request = request;
    this.listener = listener;
    this.#began = tools.clock.monotonic();
    this.#stall = new StallWatch(tools.clock, STALL_MS, () =>
      this.#fail(this.#phase === 'body' ? 'stalled' : 'failed'),
    );
  }

  /** SHA-256 of the bytes that came. */
  get digest(): Uint8Array {
    return this.#hash.copy().digest();
  }

  start(): void {
    const { client, report } = this.#tools;
    const { neighbour } = this;
    const { key } = this.#request;
    report({ kind: 'asked', neighbour, ask: 'stored' });
    this.#fetch = client.fetch(
      {
        method: 'GET',
        headers: this.#fields(),
        body: null,
        origin: new URL(neighbour.address).origin,
        trusted: true,
        path: key,
        host: new URL(key).host,
      },
      {
        onHead: (head) => this.#answered(head),
        onData: (chunk) => this.#take(chunk),
        onEnd: () => this.#end(),
        onError: () => this.#fail(this.#phase === 'body' ? 'broken' : 'failed'),
      },
    );
  }

  /** Ends the question without a further call of the listener. */
  abort(end: 'cancelled' | 'late' = 'cancelled'): void {
    if (this.#phase === 'over') return;
    const bodyBegan = this.#phase === 'body';
    this.#over();
    this.#fetch?.abort();
    this.#report(bodyBegan ? 'cancelled' : end, bodyBegan);
  }

  pause(): void {
    if (this.#phase === 'over' || this.#paused) return;
    this.#paused = true;
    this.#fetch?.pause();
    this.#stall.stop();
  }

  resume(): void {
    if (this.#phase === 'over' || !this.#paused) return;
    this.#paused = false;
    this.#stall.start();
    this.#fetch?.resume();
  }

  #fields(): string[] {
    const { headers } = this.#request;
    const wishes = freshnessWishes(headers);
    const came = combinedValue(headers, 'via');
    const own = this.#tools.via();
    return [
      ...selectingFields(headers),
      'Cache-Control',
      wishes === '' ? 'only-if-cached' : `${wishes}, only-if-cached`,
      'Via',
      came === undefined ? own : `${came}, ${own}`,
    ];
  }

  #answered(head: ResponseHead): void {
    if (this.#phase !== 'asked') return;
    if (head.status !== 200) {
      const isShort = Number(fieldValue(head.headers, 'content-length') ?? Number.NaN) <= SHORT_REFUSAL;
      this.#fail(head.status === 504 ? 'refused' : 'failed', isShort);
      return;
    }
    const length = expectedBodyLength(head);
    // A body that ends with its connection may be cut without a sign.
    const isFramed =
      length !== null || /\bchunked$/i.test(combinedValue(head.headers, 'transfer-encoding') ?? '');
    if (!isFramed || (length ?? 0) < 0 || !this.#tools.accepts(this.#request, head)) {
      this.#fail('unusable');
      return;
    }
    this.#head = head;
    this.#length = length;
    this.#phase = 'held';
    this.#stall.start();
    this.listener.answered();
    if (length === null || length > SHORT_BYTES) this.#passOn();
  }

  #take(chunk: Buffer): void {
    if (this.#phase !== 'held' && this.#phase !== 'body') return;
    this.#stall.heard();
    this.#bytes += chunk.length;
    this.#hash.update(chunk);
    if (this.#length !== null && this.#bytes > this.#length)
      this.#fail(this.#phase === 'body' ? 'damaged' : 'failed');
    else if (this.#phase === 'body') this.listener.data(chunk);
    else this.#held.push(chunk);
  }

  #end(): void {
    if (this.#phase !== 'held' && this.#phase !== 'body') return;
    if (this.#length !== null && this.#bytes < this.#length) {
      this.#fail(this.#phase === 'body' ? 'broken' : 'failed');
      return;
    }
    if (this.#phase === 'held') this.#passOn();
    if (this.#isOver()) return;
    this.#over();
    this.#report('whole', true);
    this.listener.end();
  }

  /** Passes on the head, and what is held back. */
  #passOn(): void {
    if (!this.listener.head(this.#head!)) {
      this.#fail('unusable');
      return;
    }
    // The listener may have aborted.
    if (this.#isOver()) return;
    this.#phase = 'body';
    this.#report('hit', false);
    const held = this.#held;
    this.#held = [];
    for (const bytes of held) {
      if (this.#isOver()) return;
      this.listener.data(bytes);
    }
  }

  #isOver(): boolean {
    return this.#phase === 'over';
  }

  /** `reads`: the rest of the answer is read, and its connection is kept. */
  #fail(end: QuestionEnd | BodyEnd, reads = false): void {
    if (this.#phase === 'over') return;
    const bodyBegan = this.#phase === 'body';
    this.#over();
    if (!reads) this.#fetch?.abort();
    this.#report(end, bodyBegan);
    this.listener.failed(end, null);
  }

  #over(): void {
    this.#phase = 'over';
    this.#held = [];
    this.#stall.stop();
  }

  #report(end: QuestionEnd | BodyEnd, isBody: boolean): void {
    const { report, clock } = this.#tools;
    const { neighbour } = this;
    if (isBody) report({ kind: 'body', neighbour, ask: 'stored', end: end as BodyEnd, bytes: this.#bytes });
    else
      report({
        kind: 'answered',
        neighbour,
        ask: 'stored',
        end: end as QuestionEnd,
        ms: clock.monotonic() - this.#began,
        summary: null,
        keyId: 0,
        isFalseMiss: false,
      });
  }
}
