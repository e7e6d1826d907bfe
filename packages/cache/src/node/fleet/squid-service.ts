/**
 * This node as a sibling of Squids: serves the digest of what it stores, on the port for clients.
 * The objects themselves need nothing of their own: a Squid asks for them like any client, with
 * `only-if-cached`, and the proxy answers 504 for everything that is not stored
 * (`safety/own-answer.ts`).
 *
 * ```
 *   store ──► SummaryFeed ──► SquidKeys ──► OwnDigest ──► a Squid that asks
 *                                              ▲
 *   the other workers ── their keys ───────────┘
 * ```
 *
 * With workers, each has the keys of its own store. The one that a Squid happens to ask fetches the
 * keys of the others over their sockets, 16 bytes each. A worker that is being restarted is left
 * out: its objects could not be served either. We refused to gather the keys in the primary, which
 * would hold all of them a second time for a digest that is asked for every five minutes.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, systemClock } from '@bloomery/transport';
import type { SquidsReport } from '../../peers/peer-report.ts';
import { SlicedWork } from '../../peers/sliced-work.ts';
import { isDigestTarget, sendDigest } from '../../peers/squids/digest-answer.ts';
import { OwnDigest } from '../../peers/squids/own-digest.ts';
import { SquidKeys } from '../../peers/squids/squid-keys.ts';
import { SummaryFeed } from '../../peers/summary-feed.ts';
import { shareableUntil } from '../../policy/index.ts';
import { cutConnection } from '../../safety/node-internals.ts';
import { sendOwnAnswer } from '../../safety/own-answer.ts';
import type { ResponseStore } from '../../store/response-store.ts';

export interface SquidServiceOptions {
  /** Bits per entry of the digest. */
  readonly digestBits: number;
  /** URL prefixes whose responses are shared although their query looks like a secret. */
  readonly share: readonly string[];
  readonly store: ResponseStore;
  /** The name of this node, for its refusals. */
  readonly name: () => string;
  /** Whether a client may use this node. */
  readonly allows: (client: string) => boolean;
  /** Whether host and port are an address of this node. */
  readonly isOwn: (host: string, port: number) => boolean;
  /** The keys of the other workers that are fresh at a time. */
  readonly others: (time: number) => Promise<readonly Uint8Array[]>;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
}

export class SquidService {
  readonly #options: SquidServiceOptions;
  readonly #clock: Clock;
  readonly #work: SlicedWork;
  readonly #feed: SummaryFeed<string>;
  readonly #digest: OwnDigest;
  #completed: () => void = () => {};
  #digests = 0;
  #objects: number | null = null;

  constructor(options: SquidServiceOptions) {
    const { store, share, others, digestBits, event } = options;
    const clock = options.clock ?? systemClock;
    this.#options = options;
    this.#clock = clock;
    this.#work = new SlicedWork(clock);
    const keys = new SquidKeys();
    this.#feed = new SummaryFeed<string>({
      store,
      hashes: (key) => [key],
      // A Squid gets stored responses with status 200 only (`policy/decide.ts`).
      shareableUntil: (response) => (response.status === 200 ? shareableUntil(response, { share }) : null),
      sink: keys,
      pause: () => new Promise<void>((resolve) => void clock.after(0, resolve)),
      failed: (error) => event('error', 'squid-feed', { problem: error }),
    });
    const complete = new Promise<void>((resolve) => {
      this.#completed = resolve;
    });
    this.#digest = new OwnDigest({
      clock,
      work: this.#work,
      keys,
      others,
      complete,
      bitsPerEntry: digestBits,
    });
  }

  /** Begins to read the store. */
  start(): void {
    void this.#feed.readAll().then(this.#completed);
  }

  /** Whether a request is for the digest of this node. */
  isDigest(target: string): boolean {
    return isDigestTarget(target, this.#options.isOwn);
  }

  /** Answers a request for the digest. */
  handle(request: IncomingMessage, response: ServerResponse, client: string): void {
    const { name, allows } = this.#options;
    if (!allows(client))
      sendOwnAnswer(
        response,
        name(),
        refused(403, 'client-not-allowed', 'This node does not serve your address'),
        true,
      );
    else if (request.method !== 'GET' && request.method !== 'HEAD')
      sendOwnAnswer(response, name(), refused(405, 'method', 'The digest can only be read'), true);
    else {
      const sent = this.#digest.current().then((digest) => {
        if (response.destroyed) return;
        this.#digests++;
        this.#objects = digest.objects;
        sendDigest(request, response, digest, this.#clock);
      });
      this.#cutIfFailed(sent, response);
    }
  }

  /** Answers another worker that builds a digest, with the keys of this one. */
  handleWorker(request: IncomingMessage, response: ServerResponse): void {
    const time = Number(/\?fresh=(\d{1,15})$/.exec(request.url ?? '')?.[1] ?? Number.NaN);
    const sent = this.#digest.ownKeys(time).then((keys) => void response.end(keys));
    this.#cutIfFailed(sent, response);
  }

  get report(): NonNullable<SquidsReport['served']> {
    return { digests: this.#digests, objects: this.#objects };
  }

  close(): void {
    this.#feed.close();
    this.#work.close();
  }

  #cutIfFailed(sent: Promise<void>, response: ServerResponse): void {
    sent.catch((problem: unknown) => {
      this.#options.event('error', 'squid-digest', { problem });
      cutConnection(response);
    });
  }
}

function refused(status: number, code: string, message: string) {
  return { status, code, message };
}
