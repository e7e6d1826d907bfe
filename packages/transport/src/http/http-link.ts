/**
 * The link to one neighbour over HTTP, which keeps itself up:
 *
 *     pause ──► stream ──hello──► open ──closed, silent, damaged──► pause
 *       ▲         │ three without a hello
 *       │         ▼
 *       └────── pull ──every second──► pull ──after a minute──► stream
 *
 * A stream that connects and brings no hello points to a proxy that holds responses back. After
 * three of them in a row the link pulls. It tries a stream again every minute.
 *
 * Two addresses may lead to one node, as IPv4 and IPv6 addresses of a name in the DNS do. The link
 * that is up first is used. The other one stays down, and tries again with the usual pauses, so it
 * takes over when the first one is lost.
 *
 * If the secret that the two nodes should use becomes another one (key-choice.ts), the link opens a
 * stream under that one and stays up meanwhile. So a change of secrets is no loss of a neighbour.
 * The same happens when the certificates of one of the two nodes change.
 */

import type { Cancel, Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { Backoff } from '../link/backoff.ts';
import { KeyChoice } from '../link/key-choice.ts';
import { LinkSubscriptions } from '../link/link-subscriptions.ts';
import type { PeerList } from '../link/peer-list.ts';
import type { Subscription } from '../transport.ts';
import type { TransportErrorCode } from '../transport-error.ts';
import { type Hello, PROTOCOLS } from './hello.ts';
import type { HttpLimits } from './http-limits.ts';
import type { PeerAddress } from './peer-address.ts';
import type { PeerClient } from './peer-client.ts';
import { readStream, type StreamEnd } from './stream-reader.ts';
import { STREAM_PATH } from './stream-target.ts';

/** The parts of a transport that all its links use. */
export interface LinkContext {
  readonly clock: Clock;
  readonly selfId: string;
  readonly life: string;
  readonly client: PeerClient;
  readonly keyring: FleetKeyring;
  readonly peers: PeerList;
  readonly limits: HttpLimits;
  /** The address of another link that is up to this life of this node, or null. */
  readonly twinOf: (self: HttpLink, node: string, life: string) => string | null;
}

export class HttpLink {
  readonly #context: LinkContext;
  readonly #peer: PeerAddress;
  readonly #backoff: Backoff;
  readonly #subscriptions = new LinkSubscriptions();
  readonly #choice: KeyChoice;
  /** The keys of the stream that is open or under way. */
  #streamKeys: FleetKeys;
  /** Topics of the stream that is open or under way. */
  #topics: readonly string[] = [];
  #isUp = false;
  /** The node and the life that said hello last. */
  #heard: Pick<Hello, 'node' | 'life'> | null = null;
  #isClosed = false;
  #isPulling = false;
  /** Streams, or pulls, in a row that connected and brought no hello. */
  #failures = 0;
  /** The place up to which messages were pulled; null if the last attempt was no pull. */
  #pulled: { readonly life: string; readonly next: number } | null = null;
  #streamAgainMs = 0;
  #stopStream: Cancel = () => {};
  #stopTimer: Cancel;

  constructor(peer: PeerAddress, context: LinkContext) {
    const { clock, limits } = context;
    this.#peer = peer;
    this.#context = context;
    this.#choice = new KeyChoice(context.keyring);
    this.#streamKeys = this.#choice.keys;
    this.#backoff = new Backoff(clock, { firstMs: limits.firstPauseMs, mostMs: limits.longestPauseMs });
    this.#stopTimer = clock.after(0, () => this.#connect());
  }

  get address(): string {
    return this.#peer.address;
  }

  /** Whether the link is up, to this life of this node. */
  leadsTo(node: string, life: string): boolean {
    return this.#isUp && this.#heard?.node === node && this.#heard.life === life;
  }

  subscribe(topic: string, on: Subscription): Cancel {
    const cancel = this.#subscriptions.add(topic, on);
    if (this.#isUp && this.#topics.includes(topic))
      this.#context.clock.after(0, () => {
        if (this.#isUp) this.#subscriptions.open(this.#topics);
      });
    else if (this.#isUp) this.#wait(0);
    return cancel;
  }

  /** The keys that sign what is sent to this neighbour. */
  get keys(): FleetKeys {
    return this.#choice.keys;
  }

  /** The secrets of this node have changed. */
  keyringChanged(): void {
    this.#choice.keyringChanged();
    if (this.#isUp) this.#followChoice();
  }

  /**
   * The certificates of this node have changed. The link stays up while another stream is opened.
   */
  renew(): void {
    if (!this.#isClosed) this.#waitToRenew();
  }

  /** Ends the link for good, and tells its subscriptions. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    this.#stopStream();
    this.#subscriptions.closed('closed');
  }

  #wait(ms: number): void {
    this.#stopTimer();
    this.#stopTimer = this.#context.clock.after(ms, () => this.#connect());
  }

  /**
   * All neighbours of a node renew their streams for the same reason, so each waits for a random
   * time. It is short, because the old stream stays only for the time of a hello. A neighbour that
   * asks for a new stream again and again is followed at that pace.
   */
  #waitToRenew(): void {
    const { clock, limits } = this.#context;
    this.#wait((clock.random() * limits.helloMs) / 10);
  }

  #connect(): void {
    this.#stopStream();
    const { clock, client, limits } = this.#context;
    if (client.isCertified && !this.#peer.isTls) {
      this.#down('refused: it has no https:// address');
      return;
    }
    if (this.#isPulling && clock.monotonic() >= this.#streamAgainMs) this.#isPulling = false;
    this.#topics = this.#subscriptions.topics();
    const keys = this.#choice.keys;
    this.#streamKeys = keys;
    let hello: Hello | null = null;
    this.#stopStream = readStream(
      this.#peer,
      this.#target(),
      {
        hello: (said) => this.#heardHello((hello = said)),
        keysChanged: (named) => {
          this.#choice.accept(keys, named);
          this.#followChoice();
        },
        renew: () => this.#waitToRenew(),
        heartbeat: () => this.#subscriptions.heard(),
        message: (index, payload) => {
          const topic = this.#topics[index];
          if (topic !== undefined) this.#subscriptions.message(topic, payload);
        },
        ended: (end, why, code) => this.#ended(hello, end, why, code),
      },
      { client, keys, clock, helloMs: limits.helloMs },
    );
  }

  #target(): string {
    const query = new URLSearchParams({ protocols: PROTOCOLS.join(), topics: this.#topics.join() });
    if (this.#isPulling) query.set('pull', this.#pulled ? `${this.#pulled.life}.${this.#pulled.next}` : '');
    return `${STREAM_PATH}?${query}`;
  }

  #heardHello({ node, life, next, gap, keys }: Hello): void {
    const { selfId, peers } = this.#context;
    const { address } = this.#peer;
    if (node === selfId && life === this.#context.life) {
      this.close();
      peers.set(address, { state: 'self', why: null, id: node });
      return;
    }
    if (node === selfId) {
      this.#stopStream();
      this.#down('another node has the name of this one');
      return;
    }
    const twin = this.#isUp ? null : this.#context.twinOf(this, node, life);
    if (twin !== null) {
      this.#stopStream();
      this.#down(`the node is reached at ${twin}`);
      return;
    }
    this.#heard = { node, life };
    this.#backoff.reset();
    this.#failures = 0;
    const isContinued = this.#isPulling && this.#pulled?.life === life && !gap;
    this.#pulled = this.#isPulling ? { life, next } : null;
    this.#isUp = true;
    this.#choice.accept(this.#streamKeys, keys);
    peers.set(address, { state: 'up', why: null, id: node, keys: this.#choice.common });
    // A new stream lacks the messages that were published since the end of the last one.
    if (!isContinued) this.#subscriptions.closed('reopened');
    this.#subscriptions.open(this.#topics);
    // A topic that was subscribed to while the stream was under way needs another one.
    if (this.#subscriptions.topics().some((topic) => !this.#topics.includes(topic))) this.#wait(0);
    this.#followChoice();
  }

  /** Tells which secrets are in common. Opens another stream if this one has the wrong secret. */
  #followChoice(): void {
    const { keys, common } = this.#choice;
    const { address } = this.#peer;
    this.#context.peers.set(address, { state: 'up', why: null, keys: common });
    if (keys !== this.#streamKeys) this.#wait(0);
  }

  #ended(hello: Hello | null, end: StreamEnd, why: string, code?: TransportErrorCode): void {
    const { clock, limits } = this.#context;
    if (code === 'refused' && this.#choice.refuse(this.#streamKeys)) {
      this.#wait(0);
      return;
    }
    if (this.#isPulling && hello !== null && end === 'closed') {
      this.#wait(limits.pullMs);
      return;
    }
    const hasConnected = end !== 'unreachable' && end !== 'refused';
    if (hello === null && hasConnected) this.#failures++;
    if (this.#failures >= limits.failuresBeforePull) {
      this.#failures = 0;
      this.#isPulling = !this.#isPulling;
      this.#streamAgainMs = clock.monotonic() + limits.streamAgainMs;
    }
    this.#down(why);
  }

  #down(why: string): void {
    this.#isUp = false;
    this.#pulled = null;
    this.#context.peers.set(this.#peer.address, { state: 'down', why });
    this.#subscriptions.closed(why);
    if (!this.#isClosed) this.#wait(this.#backoff.nextMs());
  }
}
