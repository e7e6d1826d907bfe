/**
 * A transport whose messages only members of a group can read: AES-256-GCM under a key that is
 * derived from the secret of the group. The adapters sign what they carry and send it in the clear,
 * which is right for summaries of a cache. Snippets are the text of files, and a NATS server or a
 * network shows them to others. Topics and sizes stay visible.
 *
 * Each message has a random nonce of 96 bits. The kind of the message and its topic are
 * authenticated with it, so that an answer cannot be passed off as a publication. Replays are the
 * adapter's business.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Cancel, Peer, RequestOptions, Service, Subscription, Transport } from '@bloomery/transport';
import { TransportError } from '@bloomery/transport';

const NONCE = 12;
const TAG = 16;

type Kind = 'publication' | 'state' | 'request' | 'answer';

export class SealedTransport implements Transport {
  readonly #inner: Transport;
  readonly #key: Uint8Array;
  /** Messages that could not be opened. */
  refused = 0;
  leaveState?: (topic: string, state: Uint8Array) => void;
  datagramBytes?: (topic: string) => number;

  constructor(inner: Transport, secret: Uint8Array) {
    this.#inner = inner;
    this.#key = new Uint8Array(hkdfSync('sha256', secret, 'bloomery share 1', 'seal', 32));
    if (inner.leaveState !== undefined)
      this.leaveState = (topic, state) => inner.leaveState?.(topic, this.#seal('state', topic, state));
    if (inner.datagramBytes !== undefined)
      this.datagramBytes = (topic) => inner.datagramBytes!(topic) - NONCE - TAG;
  }

  get self() {
    return this.#inner.self;
  }

  peers(): readonly Peer[] {
    return this.#inner.peers();
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    return this.#inner.watchPeers(listener);
  }

  publish(topic: string, message: Uint8Array): void {
    this.#inner.publish(topic, this.#seal('publication', topic, message));
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    const opened = (kind: Kind, take: ((bytes: Uint8Array) => void) | undefined) => (bytes: Uint8Array) => {
      const plain = this.#open(kind, topic, bytes);
      if (plain !== null) take?.(plain);
    };
    return this.#inner.subscribe(peer, topic, {
      message: opened('publication', (bytes) => on.message(bytes)),
      state: opened('state', (bytes) => on.state?.(bytes)),
      heard: () => on.heard?.(),
      open: () => on.open(),
      closed: (why) => on.closed(why),
    });
  }

  async request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    const answer = await this.#inner.request(peer, topic, this.#seal('request', topic, body), options);
    const plain = this.#open('answer', topic, answer);
    if (plain === null)
      throw new TransportError(
        'damaged',
        peer,
        `Cannot read an answer: expected one of the group, got another`,
      );
    return plain;
  }

  serve(topic: string, answer: Service): Cancel {
    return this.#inner.serve(topic, async (body, from) => {
      const plain = this.#open('request', topic, body);
      if (plain === null) throw new RangeError('Cannot answer: expected a request of the group, got another');
      return this.#seal('answer', topic, await answer(plain, from));
    });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #seal(kind: Kind, topic: string, bytes: Uint8Array): Uint8Array {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(Buffer.from(`${kind} ${topic}`));
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  #open(kind: Kind, topic: string, bytes: Uint8Array): Uint8Array | null {
    try {
      if (bytes.length < NONCE + TAG)
        throw new RangeError('Cannot open a message: expected a nonce and a tag');
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE));
      decipher.setAAD(Buffer.from(`${kind} ${topic}`));
      decipher.setAuthTag(bytes.subarray(-TAG));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]);
    } catch {
      this.refused++;
      return null;
    }
  }
}
