/**
 * The messages of this node: it sends them to the group, and answers the two requests of neighbours
 * that missed some (repair-message.ts).
 */

import type { Clock } from '../clock.ts';
import type { Draft } from '../presence/sealed-envelopes.ts';
import { KeptMessages } from './kept-messages.ts';
import { decodeAsk, encodeRepeated } from './repair-message.ts';

export interface OwnMessagesOptions {
  readonly clock: Clock;
  /** The life of this node. */
  readonly life: string;
  /** The most bytes of a message that fit into a datagram. */
  readonly datagramBytes: (topic: string) => number;
  readonly send: (topic: string, draft: Draft) => void;
}

export class OwnMessages {
  readonly #options: OwnMessagesOptions;
  readonly #kept: KeptMessages;
  #sent = 0;
  #repeated = 0;

  constructor(options: OwnMessagesOptions) {
    this.#options = options;
    this.#kept = new KeptMessages(options.clock);
  }

  get counts(): { readonly sent: number; readonly repeated: number } {
    return { sent: this.#sent, repeated: this.#repeated };
  }

  /** The number of the last message of each topic. */
  numbers(): Record<string, number> {
    return this.#kept.numbers();
  }

  publish(topic: string, message: Uint8Array): void {
    this.#sent++;
    this.#say(topic, this.#kept.add(topic, message), message);
  }

  /** Answers a request for messages to the group. */
  repeat(body: Uint8Array): Uint8Array {
    const ask = decodeAsk(body);
    if (ask?.life !== this.#options.life) return encodeRepeated(false);
    const areKept = this.#kept.repeat(ask.topic, ask.numbers, (number, message) => {
      this.#repeated++;
      this.#say(ask.topic, number, message);
    });
    return encodeRepeated(areKept);
  }

  /** Answers a request for one message. Throws if it is not kept, which the asker is told. */
  fetch(body: Uint8Array): Uint8Array {
    const ask = decodeAsk(body);
    const message = ask?.life === this.#options.life ? this.#kept.get(ask.topic, ask.numbers[0]) : undefined;
    if (message === undefined)
      throw new RangeError('Cannot give a message: expected one that is kept, got another number');
    return message;
  }

  /** Sends a message, or a notice if it is too long for a datagram. */
  #say(topic: string, number: number, message: Uint8Array): void {
    const { datagramBytes, send } = this.#options;
    if (message.length <= datagramBytes(topic)) send(topic, { kind: 'message', number, payload: message });
    else send(topic, { kind: 'notice', number, payload: new Uint8Array(0) });
  }
}
