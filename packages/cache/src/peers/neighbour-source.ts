/**
 * The neighbours as a source of a response (`proxy/response-source.ts`), before the origin. One
 * fetch goes through these states:
 *
 * ```
 *   searching ──found──► reading ──end──► over
 *       │                 │  ▲
 *       │ none            │  │ found the rest
 *       ▼                 ▼  │
 *     over            searching for the rest ──none──► the rest from the origin ──► over
 *   (an error before                                      │
 *   the head: the fetch                                   └──► over, with an error: the answers
 *   goes to the origin)                                        to clients are cut
 * ```
 *
 * The search (neighbour-search.ts) takes at most the budget. Every byte that arrives from a
 * neighbour of the fleet is proven before it is passed on (neighbour-ask.ts). A Squid proves
 * nothing (squids/squid-ask.ts), and its bytes are trusted as those of an origin are. So when a
 * body breaks off, stalls or is damaged, the bytes so far are right, and the rest may come from
 * another source if it is certain to belong to the same representation:
 * - from another neighbour, or the one that the owner of the key names: a 206 from exactly the next
 *   byte, under If-Range with the same strong ETag;
 * - from the origin, likewise;
 * - from the origin without a strong ETag: the whole is requested again, its first bytes are
 *   compared by their digest with those that were passed on, and only the rest is used. The result
 *   is then the origin's own response, byte by byte.
 *
 * If none of them can, the fetch fails. The answers to clients are cut, so that none looks whole.
 */

import { isStrongTag } from '../policy/conditions.ts';
import { fieldValue } from '../policy/fields.ts';
import type { RequestHead, ResponseHead } from '../policy/message-head.ts';
import { expectedBodyLength } from '../policy/storing.ts';
import { OriginError } from '../proxy/origin/origin-error.ts';
import type { ResponseSource, SourceFetch, SourceHandler, SourceRequest } from '../proxy/response-source.ts';
import type { OriginYields } from './decisions/origin-yields.ts';
import type { AskListener, AskTools } from './neighbour-ask.ts';
import type { Neighbour, NeighbourPlan, NeighbourPort } from './neighbour-port.ts';
import { type Found, NeighbourSearch, type SearchAsk } from './neighbour-search.ts';
import { isAskable, type ObjectAsk } from './objects/object-request.ts';
import { isRestOf, RestFromOrigin } from './rest-from-origin.ts';

/** How often a body may be continued, so that a fetch ends whatever its sources do. */
const MOST_CONTINUATIONS = 4;

export interface NeighbourSourceOptions {
  readonly tools: Pick<AskTools, 'clock' | 'headTimeoutMs'>;
  /** Makes a question to a neighbour. */
  readonly newAsk: (
    neighbour: Neighbour,
    request: RequestHead,
    ask: QuestionKind,
    listener: AskListener,
  ) => ObjectQuestion;
  readonly port: NeighbourPort;
  /** Time for all neighbours and the owner together, before the origin is asked. */
  readonly budgetMs: number;
  /** The request of the client. */
  readonly request: RequestHead;
  /** The origin of the request, for the rest of a body. */
  readonly origin: ResponseSource;
  /**
   * Whether responses are stored as copies, because a neighbour has them already. Copies get a
   * share of the memory, and are not published. A hot object (decisions/hot-objects.ts) is no copy.
   */
  readonly copies: boolean;
  /** Whether owners in other groups of nodes are left out, because one of them asked for this. */
  readonly isWithinGroup?: boolean | undefined;
  /** The experience with owners in other groups, by origin; null if there are no groups. */
  readonly yields?: OriginYields | null | undefined;
}

type QuestionKind = ObjectAsk & { readonly isMiss: boolean };

/** A question to one neighbour, whose answer has a body to read (neighbour-ask.ts). */
interface ObjectQuestion extends SearchAsk {
  readonly neighbour: Neighbour;
  listener: AskListener;
  /** SHA-256 of the bytes that were passed on, if they are all of the body so far. */
  readonly digest: Uint8Array | null;
  /** Whether the neighbour marked the object as one that it is asked for most. */
  readonly isHot: boolean;
  pause(): void;
  resume(): void;
}

export class NeighbourSource implements ResponseSource {
  readonly name = 'neighbours';
  readonly isNeighbour = true;
  readonly #options: NeighbourSourceOptions;
  #fetch: NeighbourFetch | null = null;

  constructor(options: NeighbourSourceOptions) {
    this.#options = options;
  }

  get copies(): boolean {
    return this.#options.copies && this.#fetch?.isHot !== true;
  }

  ask(request: SourceRequest, handler: SourceHandler): SourceFetch {
    const fetch = new NeighbourFetch(this.#options, request, handler);
    this.#fetch = fetch;
    fetch.start();
    return fetch;
  }
}

class NeighbourFetch implements SourceFetch {
  readonly #options: NeighbourSourceOptions;
  readonly #request: SourceRequest;
  readonly #handler: SourceHandler;
  #search: NeighbourSearch<ObjectQuestion> | null = null;
  /** The source of the body at the moment. */
  #reading: ObjectQuestion | RestFromOrigin | null = null;
  #head: ResponseHead | null = null;
  #isHot = false;
  /** Length of the whole body, if it is known. */
  #length: number | null = null;
  /** Proven bytes that came so far. */
  #came = 0;
  /** Digest of those bytes, while a single source sent them all. */
  #digest: Uint8Array | null = null;
  #continuations = 0;
  /** The neighbour that sent the first bytes. */
  #sender: Neighbour | null = null;
  /** Addresses of the neighbours whose body broke off. */
  readonly #lost = new Set<string>();
  /** Bytes that came although the handler holds the body back. */
  #queue: Buffer[] = [];
  #ended = false;
  #paused = false;
  #over = false;

  constructor(options: NeighbourSourceOptions, request: SourceRequest, handler: SourceHandler) {
    this.#options = options;
    this.#request = request;
    this.#handler = handler;
  }

  /** Whether the neighbour that gave the head wants this node to keep the object as its own. */
  get isHot(): boolean {
    return this.#isHot;
  }

  start(): void {
    const { port, request } = this.#options;
    // The question of a fetch may differ from that of its client, by a condition or a range.
    if (!isAskable(request) || !isAskable(this.#request) || this.#request.body !== null) {
      this.#fail(NONE);
      return;
    }
    const plan = port.plan(request);
    if (plan instanceof Promise) plan.then((made) => this.#note(made), nothing);
    else this.#note(plan);
    this.#seek(plan, null);
  }

  #note({ why }: NeighbourPlan): void {
    if (why !== undefined && !this.#over) this.#handler.onNote?.(why);
  }

  abort(): void {
    this.#over = true;
    this.#search?.abort();
    this.#reading?.abort();
    this.#queue = [];
  }

  fail(error: OriginError): void {
    if (!this.#over) this.#fail(error);
  }

  /**
   * Blames the neighbour that sent all of the body. If several sources sent parts, the guilty one
   * is unknown; those whose part broke off were counted as failing already.
   */
  distrust(): void {
    const { port } = this.#options;
    if (this.#continuations === 0 && this.#sender !== null)
      port.report({ kind: 'forged', neighbour: this.#sender });
  }

  pause(): void {
    if (this.#over || this.#paused) return;
    this.#paused = true;
    this.#reading?.pause();
  }

  resume(): void {
    if (this.#over || !this.#paused) return;
    this.#paused = false;
    this.#drain();
    if (!this.#isHeldOrOver()) this.#reading?.resume();
  }

  /** Searches for the object, or for its rest after a body that broke off. */
  #seek(plan: NeighbourPlan | Promise<NeighbourPlan>, broken: ObjectQuestion | null): void {
    const { tools, port, request, budgetMs, isWithinGroup, yields } = this.#options;
    const mayGoBeyond =
      isWithinGroup !== true && (yields?.mayAsk(originOf(request), tools.clock.random()) ?? true);
    const etag = this.#strongTag();
    this.#search = new NeighbourSearch({
      clock: tools.clock,
      headTimeoutMs: tools.headTimeoutMs,
      port,
      newAsk: (neighbour, ask, listener) => this.#newAsk(neighbour, ask, listener),
      key: request.key,
      plan,
      rest: broken === null || etag === null ? null : { start: this.#came, etag },
      budgetMs,
      lost: broken?.neighbour ?? null,
      avoid: this.#lost,
      isWithinGroup: !mayGoBeyond,
      accept: (head) => (this.#head === null ? head.status !== 206 : this.#isRest(head)),
      sent: () => {
        if (this.#head === null) this.#handler.onSent?.();
      },
      waits: () => this.#handler.onRooted?.(),
      found: (found) => this.#found(found),
      none: () => {
        if (broken === null) this.#fail(NONE);
        else this.#askOrigin();
      },
    });
    this.#search.start();
  }

  /** A question, whose end is noted if it goes to an owner in another group. */
  #newAsk(neighbour: Neighbour, ask: QuestionKind, listener: AskListener): ObjectQuestion {
    const { newAsk, request, yields } = this.#options;
    if (ask.kind !== 'owned' || yields == null) return newAsk(neighbour, request, ask, listener);
    return newAsk(neighbour, request, ask, {
      ...listener,
      head: (head) => {
        yields.gave(originOf(request));
        return listener.head(head);
      },
      failed: (end, tryNode) => {
        if (end === 'refused' && tryNode === null) yields.refused(originOf(request));
        listener.failed(end, tryNode);
      },
    });
  }

  #found({ ask, head }: Found<ObjectQuestion>): void {
    this.#reading = ask;
    ask.listener = this.#listenTo(ask);
    if (this.#head === null) {
      this.#head = head;
      this.#isHot = ask.isHot;
      this.#sender = ask.neighbour;
      this.#length = expectedBodyLength(head);
      this.#handler.onNeighbour?.(ask.neighbour.id ?? ask.neighbour.address);
      this.#handler.onHead(head);
    }
    if (this.#paused) ask.pause();
  }

  #listenTo(ask: ObjectQuestion): AskListener {
    return {
      waits: () => false,
      answered: nothing,
      head: () => false,
      data: (bytes) => this.#take(bytes),
      end: () => this.#end(),
      failed: () => this.#broken(ask),
    };
  }

  /** The body of a neighbour broke off, stalled or was damaged. */
  #broken(ask: ObjectQuestion): void {
    this.#digest = this.#continuations === 0 ? ask.digest : null;
    this.#reading = null;
    this.#lost.add(ask.neighbour.address);
    if (this.#came === this.#length) {
      // All bytes are here and proven, and so is the head that says how many there are.
      this.#end();
    } else if (++this.#continuations > MOST_CONTINUATIONS) this.#cut();
    else if (this.#strongTag() === null) this.#askOrigin();
    else this.#seek(this.#planAgain(), ask);
  }

  /** A new plan, because other neighbours may hold the object by now. */
  async #planAgain(): Promise<NeighbourPlan> {
    return this.#options.port.plan(this.#options.request, true);
  }

  #askOrigin(): void {
    const { origin } = this.#options;
    this.#handler.onOrigin?.();
    const rest = new RestFromOrigin({
      origin,
      request: this.#request,
      head: this.#head!,
      length: this.#length,
      from: this.#came,
      digest: this.#digest,
      data: (bytes) => this.#take(bytes),
      end: () => this.#end(),
      failed: () => this.#cut(),
    });
    this.#reading = rest;
    rest.start();
    if (this.#paused) rest.pause();
  }

  #take(bytes: Buffer): void {
    if (this.#over) return;
    this.#came += bytes.length;
    if (this.#length !== null && this.#came > this.#length) {
      this.#cut();
      return;
    }
    if (this.#paused) this.#queue.push(bytes);
    else this.#handler.onData(bytes);
  }

  #end(): void {
    if (this.#over) return;
    this.#ended = true;
    this.#drain();
  }

  /** Passes on what was held back, as long as the handler takes it. */
  #drain(): void {
    while (this.#queue.length > 0 && !this.#isHeldOrOver()) this.#handler.onData(this.#queue.shift()!);
    if (this.#ended && !this.#isHeldOrOver()) {
      this.#over = true;
      this.#handler.onEnd([]);
    }
  }

  /** The handler may just have paused or aborted the fetch. */
  #isHeldOrOver(): boolean {
    return this.#paused || this.#over;
  }

  /** The strong tag of the body so far, which another source must have as well. */
  #strongTag(): string | null {
    const etag = fieldValue(this.#head?.headers ?? [], 'etag');
    return etag !== undefined && isStrongTag(etag) ? etag : null;
  }

  /** Whether a head announces exactly the bytes that are missing. */
  #isRest(head: ResponseHead): boolean {
    return isRestOf(head, this.#strongTag(), this.#came, this.#length);
  }

  #cut(): void {
    const text = `No source continues the body of a neighbour after ${this.#came} bytes`;
    this.#fail(new OriginError('http_response_incomplete', text));
  }

  #fail(error: OriginError): void {
    if (this.#over) return;
    this.abort();
    this.#handler.onError(error);
  }
}

/** Scheme, host and port of the origin of a request. */
function originOf({ key }: RequestHead): string {
  return key.slice(0, key.indexOf('/', key.indexOf('//') + 2));
}

const NONE = new OriginError('destination_unavailable', 'No neighbour has the response');

function nothing(): void {}
