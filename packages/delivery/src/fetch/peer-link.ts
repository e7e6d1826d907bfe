/**
 * The link to one peer: its stream of messages, opened again after a pause when it breaks. A
 * message that the protocol does not allow ends the link for good, and the job is told.
 */

import { type Agent, request } from 'undici';
import { shapeOf } from '../decisions/file-shape.ts';
import { DeliveryError } from '../delivery-error.ts';
import { HashList, MOST_LIST_BYTES } from '../wire/hash-list.ts';
import { MessageSplitter } from '../wire/message-splitter.ts';
import { type Head, readStateMessage, type StateMessage } from '../wire/state-message.ts';
import { discard, RangeProblem } from './range-client.ts';

export interface PeerLinkEvents {
  message(link: PeerLink, message: StateMessage): void;
  /** The stream ended, or could not be opened. */
  down(link: PeerLink, why: string): void;
  /** The peer broke the protocol. */
  against(link: PeerLink, why: string): void;
}

export interface PeerLinkOptions {
  /** `http://host:port`. */
  readonly address: string;
  readonly digest: string;
  readonly agent: Agent;
  /** The port where this node serves, or null. */
  readonly ownPort: number | null;
  readonly random: () => number;
  readonly events: PeerLinkEvents;
}

/** Three heartbeats. */
const SILENCE_MS = 15_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const LIST_MS = 20_000;
/** Far above an honest peer, which gathers changes for 200 ms. */
const MOST_PER_SECOND = 1000;

export class PeerLink {
  readonly address: string;
  readonly #options: PeerLinkOptions;
  readonly #closed = new AbortController();
  #head: Head | null = null;
  #isUp = false;
  #hasTried = false;
  #why = 'not asked yet';

  constructor(options: PeerLinkOptions) {
    this.address = options.address;
    this.#options = options;
    void this.#follow();
  }

  /** The last head of the peer, or null if the link is down. */
  get head(): Head | null {
    return this.#isUp ? this.#head : null;
  }

  /** Whether a first attempt has brought a head, or failed. */
  get hasTried(): boolean {
    return this.#hasTried;
  }

  /** The reason why the link is down. */
  get why(): string {
    return this.#why;
  }

  get fileUrl(): string {
    return this.#url('file');
  }

  /** The list of hashes by which the peer works. */
  async fetchList(signal: AbortSignal): Promise<HashList> {
    const limit = AbortSignal.any([signal, this.#closed.signal, AbortSignal.timeout(LIST_MS)]);
    const { statusCode, headers, body } = await request(this.#url('list'), {
      dispatcher: this.#options.agent,
      signal: limit,
    });
    const length = Number(headers['content-length']);
    if (statusCode !== 200 || !(length <= MOST_LIST_BYTES)) {
      discard(body);
      throw new DeliveryError(
        'malformed',
        `fetch a list of hashes from ${this.address}`,
        `expected 200 and at most ${MOST_LIST_BYTES} bytes, got ${statusCode} and ${length} bytes`,
      );
    }
    return HashList.decode(new Uint8Array(await body.arrayBuffer()));
  }

  close(): void {
    this.#closed.abort();
    this.#isUp = false;
  }

  #url(what: 'file' | 'list' | 'state'): string {
    return `${this.address.replace(/\/$/, '')}/delivery/1/${this.#options.digest}/${what}`;
  }

  async #follow(): Promise<void> {
    const { events, random } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; !this.#closed.signal.aborted; ) {
      let why = 'the stream ended';
      try {
        await this.#readStream();
      } catch (error) {
        why = (error as Error).message;
        if (error instanceof DeliveryError && !this.#closed.signal.aborted) {
          this.close();
          events.against(this, why);
          return;
        }
      }
      if (this.#isUp) pauseMs = FIRST_PAUSE_MS;
      this.#isUp = false;
      this.#hasTried = true;
      this.#why = why;
      if (this.#closed.signal.aborted) return;
      events.down(this, why);
      await pause(pauseMs * (0.75 + 0.5 * random()), this.#closed.signal);
      pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs);
    }
  }

  async #readStream(): Promise<void> {
    const { agent, ownPort, events } = this.#options;
    const { statusCode, body } = await request(this.#url('state'), {
      dispatcher: agent,
      headers: ownPort === null ? {} : { 'Bloomery-Port': String(ownPort) },
      bodyTimeout: SILENCE_MS,
      headersTimeout: SILENCE_MS,
      signal: this.#closed.signal,
    });
    if (statusCode !== 200) {
      await body.dump({ limit: 1024 }).catch(() => {});
      throw new RangeProblem('lacks', `it answered ${statusCode}`);
    }
    const splitter = new MessageSplitter();
    let blocks = 0;
    let second = 0;
    let came = 0;
    this.#head = null;
    for await (const piece of body as AsyncIterable<Buffer>)
      splitter.push(
        piece,
        () => blocks,
        (bytes) => {
          const now = Math.floor(performance.now() / 1000);
          if (now !== second) came = 0;
          second = now;
          if (++came > MOST_PER_SECOND)
            throw new DeliveryError(
              'limit',
              'follow a peer',
              `expected at most ${MOST_PER_SECOND} messages a second`,
            );
          const message = readStateMessage(bytes, blocks);
          if (message.type === 'head') {
            blocks = message.size === null ? 0 : shapeOf(message.size).blocks;
            this.#head = message;
            this.#isUp = true;
            this.#hasTried = true;
          } else if (this.#head === null)
            throw new DeliveryError('malformed', 'follow a peer', `expected a head, got ${message.type}`);
          events.message(this, message);
        },
      );
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
