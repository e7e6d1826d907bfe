/**
 * One question to one neighbour, and its answer: a signed GET on a connection of the neighbours'
 * own pool, and the checked pieces of the body.
 *
 * The listener gets only proven data. The head is passed on when the first check code has come with
 * it (a beat follows the head of a body that is still coming, so this takes no longer). A short
 * body is passed on when all of it is there and its digest is right. So a failure of a short object
 * is always a failure before the head, and the next source is asked; the client notices nothing.
 *
 * Deadlines are the caller's matter, except for one: a body in which nothing arrives for 2 s has
 * stalled. The clock for that stands while the caller holds the body back. The same time applies to
 * a neighbour that says by 102 that it waits for the origin (head-wait.ts) and then falls silent. A
 * 102 is not proven, so an attacker on the network can prolong a wait, up to the time that the
 * origin has for its head.
 */

import type { Clock, FleetKeyring, FleetKeys } from '@bloomery/transport';
import type { RequestSigner } from '@bloomery/transport/http';
import { combinedValue, fieldValue } from '../policy/fields.ts';
import type { RequestHead, ResponseHead } from '../policy/message-head.ts';
import type { OriginClient } from '../proxy/origin/origin-client.ts';
import type { SourceFetch } from '../proxy/response-source.ts';
import { PROCESSING_MS } from './head-wait.ts';
import type { BodyEnd, Neighbour, NeighbourReport, QuestionEnd } from './neighbour-port.ts';
import { PieceError, PieceReader } from './objects/object-pieces.ts';
import { askFields, isSelectedBySentFields, type ObjectAsk } from './objects/object-request.ts';
import { answerContext, readAnswer, type SummaryVersion } from './objects/object-response.ts';
import type { RunningAsks } from './running-asks.ts';
import { StallWatch } from './stall-watch.ts';

/** Bodies up to this length are passed on only as a whole. */
const SHORT_BYTES = 65_536;
/** A body in which nothing arrives for this time has stalled. Holders send a beat each second. */
const STALL_MS = 2000;

/** The objects that every question needs. */
export interface AskTools {
  /** Connections to neighbours, which no other traffic uses. */
  readonly client: Pick<OriginClient, 'fetch'>;
  readonly signer: RequestSigner;
  readonly keyring: FleetKeyring;
  readonly clock: Clock;
  /** Whether neighbours have certificates. Those with an http: address are then not asked. */
  readonly isCertified: boolean;
  /** The longest wait for a neighbour that waits for the origin. */
  readonly headTimeoutMs: number;
  readonly running: RunningAsks;
  readonly report: (report: NeighbourReport) => void;
}

/** Called in this order: waits, answered, head, data…, then exactly one of end and failed. */
export interface AskListener {
  /**
   * The neighbour waits for the head of the origin. Returns false if the caller does not wait
   * longer for that.
   */
  waits(): boolean;
  /** A head has come. It is not proven yet. */
  answered(): void;
  /** The head is proven. Returns false if the caller cannot use this answer. */
  head(head: ResponseHead): boolean;
  data(bytes: Buffer): void;
  end(): void;
  /** `tryNode`: the node that a refusal names. */
  failed(end: QuestionEnd | BodyEnd, tryNode: string | null): void;
}

export class NeighbourAsk {
  readonly neighbour: Neighbour;
  listener: AskListener;
  readonly #tools: AskTools;
  readonly #ask: ObjectAsk;
  /** Whether the summary of the neighbour says "no". */
  readonly #isMiss: boolean;
  readonly #request: RequestHead;
  readonly #began: number;
  readonly #forget: () => void;
  /** The keys that sign the question, and by which the answer is checked. */
  readonly #keys: FleetKeys;
  readonly #stall: StallWatch;
  #fetch: SourceFetch | null = null;
  #phase: 'asked' | 'unproven' | 'body' | 'over' = 'asked';
  #head: ResponseHead | null = null;
  #length: number | null = null;
  #isHot = false;
  #summary: SummaryVersion | null = null;
  #reader: PieceReader | null = null;
  /** Checked bytes of a body that is not passed on yet. */
  #held: Buffer[] = [];
  #paused = false;
  /** The neighbour waits for the origin, and this node for the neighbour. */
  #isWaiting = false;

  constructor(
    tools: AskTools,
    neighbour: Neighbour,
    request: RequestHead,
    { isMiss, ...ask }: ObjectAsk & { readonly isMiss: boolean },
    listener: AskListener,
  ) {
    this.#tools = tools;
    this.#keys = tools.keyring.find(neighbour.keyId) ?? tools.keyring.first;
    this.neighbour = neighbour;
    this.#request = request;
    this.#ask = ask;
    this.#isMiss = isMiss;
    this.listener = listener;
    this.#began = tools.clock.monotonic();
    this.#stall = new StallWatch(tools.clock, STALL_MS, () =>
      this.#fail(this.#phase === 'body' ? 'stalled' : 'failed'),
    );
    this.#forget =
      neighbour.id === null ? nothing : tools.running.begin(request.key, neighbour.id, ask.kind === 'owned');
  }

  /** Digest of the bytes that were passed on, if they are all of the body so far. */
  get digest(): Uint8Array | null {
    return this.#reader?.digest ?? null;
  }

  /** Whether the holder wants this node to keep the object as its own. */
  get isHot(): boolean {
    return this.#isHot;
  }

  start(): void {
    const { client, signer, headTimeoutMs, report } = this.#tools;
    const { neighbour } = this;
    const { key, headers } = this.#request;
    const { origin, host, protocol } = new URL(neighbour.address);
    const signature = signer.sign({ method: 'GET', target: key, host, to: neighbour.id }, this.#keys);
    const asked = askFields(headers, this.#ask);
    report({ kind: 'asked', neighbour, ask: this.#ask.kind });
    if (this.#tools.isCertified && protocol !== 'https:') {
      queueMicrotask(() => this.#fail('failed'));
      return;
    }
    this.#fetch = client.fetch(
      {
        method: 'GET',
        headers: [...asked, 'Bloomery-Peer', signature],
        body: null,
        origin,
        trusted: true,
        path: key,
        host,
        mostInterims: Math.ceil(headTimeoutMs / PROCESSING_MS) + 1,
      },
      {
        onInterim: (status) => {
          if (status === 102) this.#processing();
        },
        onHead: (head) => this.#answered(head, signature, asked),
        onData: (chunk) => this.#take(chunk),
        onEnd: (trailers) => this.#end(trailers),
        onError: () => this.#fail(this.#phase === 'body' ? 'broken' : 'failed'),
      },
    );
  }

  /** Ends the question without a further call of the listener. */
  abort(end: 'cancelled' | 'late' | 'unusable' = 'cancelled'): void {
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

  /** The neighbour says that it waits for the origin; it says so again each second. */
  #processing(): void {
    if (this.#phase !== 'asked') return;
    this.#stall.heard();
    if (this.#isWaiting || !this.listener.waits()) return;
    // For the counts the question ends here: the neighbour is neither busy with it nor slow.
    this.#report('waits', false);
    this.#isWaiting = true;
    this.#stall.start();
  }

  #answered(head: ResponseHead, signature: string, asked: readonly string[]): void {
    const answer = readAnswer(head);
    this.#summary = answer.summary;
    if (answer.kind === 'refused') {
      // A refusal without a body leaves the connection as it is, for the next question.
      if (fieldValue(head.headers, 'content-length') === '0') this.#fetch = null;
      this.#fail('refused', answer.tryNode);
      return;
    }
    this.#phase = 'unproven';
    this.#head = answer.head;
    this.#length = answer.length;
    this.#isHot = answer.isHot;
    const context = answerContext(signature, asked, head.status, head.headers);
    this.#reader = new PieceReader(this.#keys.response, context);
    this.#stall.start();
    this.listener.answered();
  }

  #take(chunk: Buffer): void {
    // The body of a refusal is not read.
    if (this.#reader === null || this.#phase === 'over') return;
    this.#stall.heard();
    try {
      for (const bytes of this.#reader.take(chunk)) this.#held.push(bytes);
      if (this.#length !== null && this.#reader.bytes > this.#length) {
        const text = `Cannot read a body: expected ${this.#length} bytes, got ${this.#reader.bytes}`;
        throw new PieceError('damaged', text);
      }
    } catch (error) {
      this.#fail(endOf(error, this.#phase));
      return;
    }
    const isShort = this.#length !== null && this.#length <= SHORT_BYTES;
    if (this.#reader.proven && !isShort) this.#passOn();
  }

  #end(trailers: readonly string[]): void {
    if (this.#reader === null || this.#phase === 'over') return;
    try {
      this.#reader.end(fieldValue(trailers, 'bloomery-digest'));
      if (this.#length !== null && this.#length !== this.#reader.bytes) {
        const text = `Cannot end a body: expected ${this.#length} bytes, got ${this.#reader.bytes}`;
        throw new PieceError('incomplete', text);
      }
    } catch (error) {
      this.#fail(endOf(error, this.#phase));
      return;
    }
    this.#passOn();
    if (this.#isOver()) return;
    this.#over();
    this.#report('whole', true);
    this.listener.end();
  }

  /** Passes on everything that is proven. */
  #passOn(): void {
    if (this.#phase === 'unproven') {
      const head = this.#head!;
      const usable = isSelectedBySentFields(head.headers, this.#request.headers);
      if (!usable || !this.listener.head(head)) {
        this.#fail('unusable');
        return;
      }
      // The listener may have aborted.
      if (this.#isOver()) return;
      this.#phase = 'body';
      this.#report('hit', false);
    }
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

  #fail(end: QuestionEnd | BodyEnd, tryNode: string | null = null): void {
    if (this.#phase === 'over') return;
    const bodyBegan = this.#phase === 'body';
    this.#over();
    this.#fetch?.abort();
    this.#report(end, bodyBegan);
    this.listener.failed(end, tryNode);
  }

  #over(): void {
    this.#phase = 'over';
    this.#held = [];
    this.#stall.stop();
    this.#forget();
  }

  #report(end: QuestionEnd | BodyEnd, isBody: boolean): void {
    const { report, clock } = this.#tools;
    const { neighbour } = this;
    if (isBody) {
      const bytes = this.#reader?.bytes ?? 0;
      report({ kind: 'body', neighbour, ask: this.#ask.kind, end: end as BodyEnd, bytes });
      return;
    }
    const ms = clock.monotonic() - this.#began;
    const { kind: ask } = this.#ask;
    if (this.#isWaiting) {
      this.#isWaiting = false;
      report({ kind: 'asked', neighbour, ask });
    }
    report({
      kind: 'answered',
      neighbour,
      ask,
      end: end as QuestionEnd,
      ms,
      summary: this.#summary,
      keyId: this.#keys.id,
      isFalseMiss: this.#isMiss && end === 'hit' && wasStored(this.#head!),
    });
  }
}

/** RFC 9211, 2: the last member of Cache-Status is the one of the cache nearest to the client. */
function wasStored({ headers }: ResponseHead): boolean {
  const members = combinedValue(headers, 'cache-status')?.split(',') ?? [];
  return /; *hit(;|$)/.test(members.at(-1) ?? '');
}

function endOf(error: unknown, phase: string): QuestionEnd | BodyEnd {
  if (!(error instanceof PieceError)) throw error;
  if (phase !== 'body') return 'failed';
  return error.code === 'damaged' ? 'damaged' : 'broken';
}

function nothing(): void {}
