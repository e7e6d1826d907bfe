/**
 * Serves objects to neighbours: the receiver of the questions of object-request.ts, on the peer
 * port. It looks up the key in the store and among the running fetches. It fetches in one case
 * only: for a node of another group, if this node owns the key (`owned`).
 *
 * - **Who may ask**: nodes that know the fleet's secret, by the signature of the request, and with
 *   mutual TLS only under a name of their certificate.
 * - **What they get**: complete responses that are fresh, that match the question by the policy
 *   (Vary, the client's limits on age) and that `mayShare` allows. `coming` also gives a response
 *   that this node is receiving at the moment, from its first byte on, as it comes.
 * - **What they learn otherwise**: nothing. Every refusal has the same bytes (object-response.ts).
 *
 * Each fetch of this node feeds two neighbours at most. A third one is told to ask one of the two,
 * so that a large object spreads as a tree, and every node sends it at most twice. A fetch whose
 * head has not come yet can be waited for, as long as the asker says: otherwise all nodes that ask
 * in the first milliseconds would go to the origin. A fetch that waits for the origin itself can be
 * waited for as long as that takes (head-wait.ts).
 *
 * While this node waits for bytes itself, it sends a beat every second (object-pieces.ts), so that
 * a reader can tell a slow origin from a node that is gone. If the fetch fails, the connection is
 * cut; the answer never ends regularly. A neighbour that takes no bytes for 10 s is cut as well.
 * One with 16 questions under way is refused further ones. Questions that wait for a slow origin
 * are not among the 16, so that they do not keep a neighbour from what is stored; there may be 64
 * of them.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, FleetKeys } from '@bloomery/transport';
import { type RequestVerifier, SIGNATURE_FIELD } from '@bloomery/transport/http';
import { type Answer, answerFrom } from '../policy/answer.ts';
import { forwardStatus, hitStatus } from '../policy/cache-status.ts';
import { decide } from '../policy/decide.ts';
import type { Decision } from '../policy/decision.ts';
import type { RequestHead } from '../policy/message-head.ts';
import type { PolicyOptions } from '../policy/policy-options.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import { variantText, variedFor } from '../policy/vary.ts';
import { hasBody } from '../proxy/client/exchange.ts';
import type { FetchDecision } from '../proxy/flight/fetch-order.ts';
import type { ProxyFlight, ProxyFlights, SharedResponse } from '../proxy/flight/shared-response.ts';
import { cutConnection } from '../safety/node-internals.ts';
import type { BodyReader, ResponseStore } from '../store/response-store.ts';
import type { HotObjects } from './decisions/hot-objects.ts';
import { awaitHead } from './head-wait.ts';
import {
  fieldsThatCount,
  fieldsToFetchWith,
  keyOfTarget,
  type ObjectAsk,
  readAsk,
} from './objects/object-request.ts';
import {
  answerContext,
  objectFields,
  REFUSED_STATUS,
  refusalFields,
  type SummaryVersion,
} from './objects/object-response.ts';
import { PieceSender } from './objects/piece-sender.ts';
import type { RunningAsks } from './running-asks.ts';

export interface PeerEntryOptions {
  readonly store: ResponseStore;
  readonly flights: ProxyFlights;
  /** The options of the policy as they are now; they change with the configuration. */
  readonly policy: () => PolicyOptions;
  readonly clock: Clock;
  readonly verifier: Pick<RequestVerifier, 'verify'>;
  /** Whether a response may be given to a neighbour. */
  readonly mayShare: (response: StoredResponse) => boolean;
  /**
   * The version of this node's summary under a secret, or null while it has none. A question that
   * was signed by none of them has the id null.
   */
  readonly summary: (keyId: number | null) => SummaryVersion | null;
  /** The longest wait of a neighbour for the head of a fetch that waits for the origin. */
  readonly headTimeoutMs: number;
  /** The questions of this node itself. */
  readonly running: RunningAsks;
  /** The objects that neighbours ask for so often that they should keep them. */
  readonly hot: HotObjects<string>;
  /**
   * Begins a fetch for a node of another group, inside this node's group or from the origin. Null
   * if the object cannot be shared, or has no route here. Undefined if this node is in no group.
   */
  readonly fetch?: ((request: RequestHead, decision: FetchDecision) => ProxyFlight | null) | undefined;
  /** Reports an exception that no other code would see. */
  readonly problem: (problem: unknown) => void;
}

/** Counts since the start. */
export interface PeerEntryStatistics {
  readonly served: number;
  readonly refused: number;
  readonly bytes: number;
  /** Fetches for nodes of other groups. */
  readonly fetched: number;
}

/** A question that passed the checks of its form. */
interface Question {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly node: string;
  readonly signature: string;
  /** The keys that signed it. */
  readonly keys: FleetKeys;
  readonly request: RequestHead;
  readonly ask: ObjectAsk;
}

/** A response, and where its bytes are: `body` if it is still coming, otherwise in the store. */
type Found = Pick<SharedResponse, 'response' | 'source' | 'body'>;

/** Readers among the neighbours that one fetch of this node feeds. */
const MOST_FED = 2;
/** Questions of one neighbour at a time. */
const MOST_ASKS = 16;
/** Further questions of one neighbour that wait for a slow origin. */
const MOST_WAITS = 64;

export class PeerEntry {
  readonly #options: PeerEntryOptions;
  /** Questions under way, by node, without those that wait for a slow origin. */
  readonly #asks = new NodeCounts();
  readonly #waits = new NodeCounts();
  /** The neighbours that wait for a fetch or read from it. */
  readonly #fed = new WeakMap<ProxyFlight, string[]>();
  #served = 0;
  #refused = 0;
  #bytes = 0;
  #fetched = 0;

  constructor(options: PeerEntryOptions) {
    this.#options = options;
  }

  get statistics(): PeerEntryStatistics {
    return { served: this.#served, refused: this.#refused, bytes: this.#bytes, fetched: this.#fetched };
  }

  /**
   * Handler for requests in absolute form on the peer port. `names` are those in the certificate of
   * the neighbour, or null if it has none.
   */
  handle(req: IncomingMessage, res: ServerResponse, names: readonly string[] | null = null): void {
    const question = this.#read(req, res, names);
    if ('refusedKeyId' in question) {
      this.#refuse(res, question.refusedKeyId);
      return;
    }
    const { node } = question;
    this.#asks.change(node, 1);
    res.once('close', () => this.#asks.change(node, -1));
    this.#answer(question).catch((problem: unknown) => {
      this.#options.problem(problem);
      cutConnection(res);
    });
  }

  /** Returns the question, or the secret that signed it if it is to be refused. */
  #read(
    req: IncomingMessage,
    res: ServerResponse,
    names: readonly string[] | null,
  ): Question | { readonly refusedKeyId: number | null } {
    const unsigned = { refusedKeyId: null };
    const { method, url: target, rawHeaders } = req;
    const { host, [SIGNATURE_FIELD]: signature } = req.headers;
    if (method !== 'GET' || target === undefined || host === undefined || hasBody(req)) return unsigned;
    if (typeof signature !== 'string') return unsigned;
    const verdict = this.#options.verifier.verify({ method, target, host, field: signature, names });
    if ('refused' in verdict) return unsigned;
    const { node, keys } = verdict;
    const key = keyOfTarget(target);
    const ask = readAsk(rawHeaders);
    if (key === null || ask === null || this.#asks.of(node) >= MOST_ASKS) return { refusedKeyId: keys.id };
    const request = { method, key, headers: fieldsThatCount(rawHeaders) };
    return { req, res, node, signature, keys, request, ask };
  }

  async #answer(question: Question): Promise<void> {
    const { store, policy, clock, mayShare } = this.#options;
    const { request, ask, res, keys } = question;
    const found = await store.find(request.key);
    if (res.destroyed) return;
    const now = clock.now();
    const decision = decide(request, found, now, policy());
    if (decision.kind === 'serve' && !decision.stale) {
      const { response } = decision;
      if (response.range !== null || !mayShare(response)) this.#refuse(res, keys.id);
      else {
        const status = hitStatus(policy().name, response, now);
        await this.#serve(question, { response, source: response, body: null }, status);
      }
      return;
    }
    if (ask.kind === 'stored') this.#refuse(res, keys.id);
    else await this.#answerFromFlight(question, decision);
  }

  async #answerFromFlight(question: Question, decision: Decision): Promise<void> {
    const { flights, policy, running } = this.#options;
    const { request, node, res, ask, keys } = question;
    const { key, headers } = request;
    const names = flights.selectors(key);
    const variant = names === undefined ? '' : variantText(variedFor(names, headers));
    const found = flights.find(key, variant, (shared) => this.#suits(request, ask, shared));
    const flight = found ?? this.#fetch(question, decision);
    const isPassedOn = ask.kind === 'owned' && running.isBeyond(key);
    if (flight === null || isPassedOn || running.has(key, node)) {
      this.#refuse(res, keys.id);
      return;
    }
    const fed = this.#fed.get(flight) ?? [];
    this.#fed.set(flight, fed);
    const others = [...new Set(fed)];
    if (others.length >= MOST_FED && !others.includes(node)) {
      this.#refuse(res, keys.id, others[Math.floor(this.#options.clock.random() * others.length)]);
      return;
    }
    fed.push(node);
    res.once('close', () => fed.splice(fed.indexOf(node), 1));
    const shared = await this.#head(flight, question);
    if (res.destroyed) return;
    if (shared === null || !this.#suits(request, ask, shared)) {
      this.#refuse(res, keys.id);
      return;
    }
    const status = forwardStatus(policy().name, { fwd: 'uri-miss', collapsed: true });
    await this.#serve(question, shared, status);
  }

  /** Begins to fetch an object for a node of another group, if the question is for that. */
  #fetch({ request, ask }: Question, decision: Decision): ProxyFlight | null {
    const { fetch, running } = this.#options;
    if (fetch === undefined || ask.kind !== 'owned' || ask.rest !== null || running.isBeyond(request.key))
      return null;
    if (decision.kind !== 'fetch' && decision.kind !== 'validate') return null;
    const flight = fetch({ ...request, headers: fieldsToFetchWith(request.headers) }, decision);
    if (flight !== null) this.#fetched++;
    return flight;
  }

  async #head(flight: ProxyFlight, { node, ask, res }: Question): Promise<SharedResponse | null> {
    const { clock, headTimeoutMs } = this.#options;
    let prolonged = false;
    const shared = await awaitHead(flight, res, {
      clock,
      waitMs: ask.waitMs,
      longestMs: this.#waits.of(node) < MOST_WAITS ? headTimeoutMs : null,
      prolonged: () => {
        prolonged = true;
        this.#asks.change(node, -1);
        this.#waits.change(node, 1);
      },
    });
    if (prolonged) {
      this.#asks.change(node, 1);
      this.#waits.change(node, -1);
    }
    return shared;
  }

  /** Whether a response that is being received may be given to a neighbour that asks like this. */
  #suits(request: RequestHead, { rest }: ObjectAsk, shared: SharedResponse): boolean {
    const { policy, clock, mayShare } = this.#options;
    const { response, body, personal } = shared;
    if (personal || response.range !== null) return false;
    if (body !== null && !(rest === null ? body.open : body.isOpenFrom(rest.start))) return false;
    const decision = decide(request, [response], clock.now(), policy());
    return decision.kind === 'serve' && !decision.stale && mayShare(response);
  }

  async #serve(question: Question, found: Found, status: string): Promise<void> {
    const { store, policy, clock, summary, hot } = this.#options;
    const { req, res, request, ask, signature, keys } = question;
    const { response, source, body } = found;
    const answer = answerFrom(request, response, clock.now(), { stale: false, status }, policy());
    const bytes = answer === null ? null : wantedBytes(answer, ask);
    if (answer === null || bytes === null) {
      this.#refuse(res, keys.id);
      return;
    }
    const { start, end } = bytes;
    const reader = body === null ? store.read(source, start, end) : body.read(start, end);
    res.once('close', () => reader.close());
    let first: Uint8Array | null | undefined;
    if (body === null) {
      // The store checks its bytes when they are read. If they are damaged, nothing was sent yet.
      const read = await firstPiece(reader);
      if (read === 'failed') {
        this.#refuse(res, keys.id);
        return;
      }
      first = read;
    }
    const isHot = body === null && ask.rest === null && hot.gave(request.key);
    const fields = objectFields(answer.headers, summary(keys.id), isHot);
    const context = answerContext(signature, req.rawHeaders, answer.status, fields);
    const sender = new PieceSender(res, { clock, key: keys.response, context });
    this.#served++;
    res.writeHead(answer.status, answer.statusText, fields);
    await sender.send(reader, first);
    this.#bytes += sender.bytes;
  }

  #refuse(res: ServerResponse, keyId: number | null, tryNode: string | null = null): void {
    this.#refused++;
    refuseQuestion(res, this.#options.summary(keyId), tryNode);
  }
}

/** The answer to every question that is not answered with an object. */
export function refuseQuestion(
  res: ServerResponse,
  summary: SummaryVersion | null,
  tryNode: string | null = null,
): void {
  if (res.destroyed) return;
  res.writeHead(REFUSED_STATUS, refusalFields(summary, tryNode));
  res.end();
}

/** A count for each node; nodes with none are forgotten. */
class NodeCounts {
  readonly #counts = new Map<string, number>();

  of(node: string): number {
    return this.#counts.get(node) ?? 0;
  }

  change(node: string, by: number): void {
    const count = this.of(node) + by;
    if (count === 0) this.#counts.delete(node);
    else this.#counts.set(node, count);
  }
}

/** The bytes of the stored body to send, or null if the answer is not what was asked for. */
function wantedBytes(
  { status, body }: Answer,
  { rest }: ObjectAsk,
): { readonly start?: number; readonly end?: number } | null {
  if (rest === null) return body.kind === 'all' ? {} : null;
  return status === 206 && body.kind === 'part' ? body : null;
}

async function firstPiece(reader: BodyReader): Promise<Uint8Array | null | 'failed'> {
  try {
    return await reader.next();
  } catch {
    return 'failed';
  }
}
