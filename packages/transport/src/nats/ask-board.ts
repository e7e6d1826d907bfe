/**
 * Requests in both directions: those of this node that wait for their answers, and those of
 * neighbours that its services answer.
 *
 * A request has a number, which stands in the subject of its answer. An answer is signed together
 * with that subject, so an answer to another request is not taken. The answering node computes the
 * subject from the signed name of the asker and does not read the reply subject of the message. So
 * a user of the server cannot have answers sent elsewhere.
 *
 * The server tells an asker at once if its neighbour is not connected ("no responders"). The link
 * is down from then on, and not only after three missed beats. A neighbour that connects again
 * hails.
 */

import type { Cancel } from '../clock.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { isErrorCode, type Settle } from '../link/pending-request.ts';
import type { Services } from '../link/services.ts';
import type { Life, PresenceLink } from '../presence/presence-link.ts';
import type { AcceptedEnvelope, Opened } from '../presence/sealed-envelopes.ts';
import { MAX_MESSAGE_BYTES } from '../transport.ts';
import type { TransportErrorCode } from '../transport-error.ts';
import type { EnvelopeSender } from './envelope-sender.ts';
import { PieceAssembler } from './piece-assembler.ts';
import { type FleetSubjects, tokenText } from './subjects.ts';

export interface AskBoardOptions extends Life {
  readonly subjects: FleetSubjects;
  readonly sender: EnvelopeSender;
  readonly services: Services;
  /** Takes the presence in a greeting, and returns that of this node. */
  readonly greeted: (greeting: AcceptedEnvelope, presence: Uint8Array) => Uint8Array;
}

/** A question to one life of a node. */
export interface Question {
  readonly link: PresenceLink;
  readonly subject: string;
  readonly body: Uint8Array;
}

interface OpenAsk {
  readonly link: PresenceLink;
  readonly settle: SettleAsk;
}

/** Ends a request. `keys` are those that signed the answer. */
type SettleAsk = (outcome: Parameters<Settle>[0], keys?: FleetKeys) => void;

export class AskBoard {
  readonly #options: AskBoardOptions;
  /** Requests that wait, by the subjects of their answers. */
  readonly #open = new Map<string, OpenAsk>();
  readonly #requests = new PieceAssembler();
  readonly #answers = new PieceAssembler();
  #number = 0;

  constructor(options: AskBoardOptions) {
    this.#options = options;
  }

  /** Puts a question. The result gives it up. */
  ask({ link, subject, body }: Question, settle: SettleAsk): Cancel {
    const { subjects, sender, node, life } = this.#options;
    const number = ++this.#number;
    const reply = subjects.answer(node, life, number);
    const giveUp = () => void this.#open.delete(reply);
    this.#open.set(reply, { link, settle });
    const draft = { kind: 'request', number, payload: body } as const;
    if (!sender.send(subject, draft, { reply, keys: link.keys })) this.#end(reply, 'unreachable');
    return giveUp;
  }

  /** The server has no receiver for a request. Returns the link to the node that was asked. */
  noResponder(subject: string): PresenceLink | undefined {
    const link = this.#open.get(subject)?.link;
    this.#end(subject, 'unreachable');
    return link;
  }

  /** A part of an answer, or a refusal, has come on its subject. */
  answered(subject: string, { envelope, keys }: AcceptedEnvelope): void {
    const ask = this.#open.get(subject);
    if (ask === undefined) return;
    const body = this.#answers.take(subject, envelope);
    if (body === null) return;
    if (envelope.kind === 'refusal') {
      const code = new TextDecoder().decode(body.subarray(0, 32));
      this.#end(subject, isErrorCode(code) ? code : 'failed');
    } else if (envelope.kind === 'answer') {
      this.#open.delete(subject);
      ask.settle({ body: new Uint8Array(body) }, keys);
    }
  }

  /** The neighbour is gone: what it was asked will not be answered. */
  giveUp(link: PresenceLink): void {
    for (const [subject, ask] of [...this.#open]) if (ask.link === link) this.#end(subject, 'unreachable');
  }

  /** The connection is lost. */
  lost(): void {
    for (const subject of [...this.#open.keys()]) this.#end(subject, 'unreachable');
    this.#requests.clear();
    this.#answers.clear();
  }

  /** A part of a request of a neighbour has come on its subject. */
  asked(subject: string, opened: Opened): void {
    const { subjects, greeted, node: self, life: ownLife } = this.#options;
    const { envelope } = opened;
    if (envelope === undefined || envelope.kind !== 'request') return;
    if ('refused' in opened) {
      // A node that knows the secret is told that its clock is wrong. A repetition gets no answer.
      if (opened.refused === 'clock') this.#reply(opened, { refused: 'clock' });
      return;
    }
    const { node, life, number } = envelope;
    const body = this.#requests.take(`${node} ${life} ${number}`, envelope);
    if (body === null) return;
    if (subject === subjects.greet(self, ownLife)) this.#reply(opened, { body: greeted(opened, body) });
    else void this.#serve(tokenText(subject.slice(subject.lastIndexOf('.') + 1)), body, opened);
  }

  async #serve(topic: string, body: Uint8Array, opened: AcceptedEnvelope): Promise<void> {
    const { services } = this.#options;
    const { node } = opened.envelope;
    if (!services.has(topic)) return this.#reply(opened, { refused: 'topic' });
    const leave = services.enter(node);
    if (leave === null) return this.#reply(opened, { refused: 'busy' });
    try {
      const served = await services.answer(topic, new Uint8Array(body), node);
      const isTooLong = 'body' in served && served.body.length > MAX_MESSAGE_BYTES;
      this.#reply(opened, isTooLong ? { refused: 'size' } : served);
    } finally {
      leave();
    }
  }

  #reply(
    { envelope, keys }: Opened,
    served: { readonly body: Uint8Array } | { readonly refused: TransportErrorCode },
  ): void {
    const { subjects, sender } = this.#options;
    const { node, life, number } = envelope!;
    const subject = subjects.answer(node, life, number);
    const draft =
      'body' in served
        ? ({ kind: 'answer', payload: served.body } as const)
        : ({ kind: 'refusal', payload: Buffer.from(served.refused) } as const);
    sender.send(subject, { ...draft, number }, { keys });
  }

  #end(subject: string, refused: TransportErrorCode): void {
    const ask = this.#open.get(subject);
    this.#open.delete(subject);
    ask?.settle({ refused });
  }
}
