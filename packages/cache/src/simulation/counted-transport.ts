/**
 * A transport that counts what a node sends, and passes everything on to another one. A published
 * message counts once for each neighbour that is up; those that are not about summaries are
 * heartbeats. A request counts with its answer.
 */

import type {
  Cancel,
  Peer,
  PeerIdentity,
  RequestOptions,
  Service,
  Subscription,
  Transport,
} from '@bloomery/transport';
import { readSyncMessage } from 'bloomery/wire';
import { decodeQuestion } from '../peers/decisions/owner-question.ts';
import { SUMMARY_TOPIC } from '../peers/summary-follower.ts';
import type { FleetCounts } from './fleet-counts.ts';

/** The version of messages about sets of positions (docs/spec/sync.md). */
const SET_VERSION = 2;

/** The counts that a transport adds to; those between groups are apart. */
export type TransportCounts = Pick<FleetCounts, 'sent' | 'waited'>;

export class CountedTransport implements Transport {
  readonly #transport: Transport;
  readonly #counts: TransportCounts;
  readonly #updateBytes: (message: Uint8Array) => number;

  /** `updateBytes`: the bytes that count for an update. Default: those of the message. */
  constructor(
    transport: Transport,
    counts: TransportCounts,
    updateBytes: (message: Uint8Array) => number = ({ length }) => length,
  ) {
    this.#transport = transport;
    this.#counts = counts;
    this.#updateBytes = updateBytes;
  }

  get self(): PeerIdentity {
    return this.#transport.self;
  }

  peers(): readonly Peer[] {
    return this.#transport.peers();
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    return this.#transport.watchPeers(listener);
  }

  publish(topic: string, message: Uint8Array): void {
    let up = 0;
    for (const { state } of this.#transport.peers()) if (state === 'up') up++;
    const isHeartbeat = topic !== SUMMARY_TOPIC || readSyncMessage(message, SET_VERSION).type === 'heartbeat';
    if (isHeartbeat) this.#counts.sent('heartbeat', message.length, up);
    else this.#counts.sent('update', this.#updateBytes(message), up);
    this.#transport.publish(topic, message);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    return this.#transport.subscribe(peer, topic, on);
  }

  async request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    const [question, answer] =
      topic === SUMMARY_TOPIC
        ? (['catch-up', 'catch-up'] as const)
        : (['owner-question', 'owner-answer'] as const);
    this.#counts.sent(question, body.length);
    if (question === 'owner-question' && isWaitedFor(body)) this.#counts.waited();
    const answered = await this.#transport.request(peer, topic, body, options);
    this.#counts.sent(answer, answered.length);
    return answered;
  }

  serve(topic: string, answer: Service): Cancel {
    return this.#transport.serve(topic, answer);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** Whether a request of a client waits for the answer. Other messages to owners only tell them. */
function isWaitedFor(question: Uint8Array): boolean {
  const kind = decodeQuestion(question)?.kind;
  return kind === 'want' || kind === 'lost';
}
