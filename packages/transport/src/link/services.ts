/**
 * The services of a node by topic, and a bound on the requests that each neighbour has under way. A
 * neighbour beyond it is refused at once, so that one busy or hostile node leaves room for the
 * others.
 */

import type { Cancel } from '../clock.ts';
import type { Service } from '../transport.ts';
import type { TransportErrorCode } from '../transport-error.ts';

/** Requests that one neighbour may have under way. */
const MOST_AT_ONCE = 16;

export type Served = { readonly body: Uint8Array } | { readonly refused: TransportErrorCode };

export class Services {
  readonly #services = new Map<string, Service>();
  readonly #underWay = new Map<string, number>();
  readonly #mostAtOnce: number;

  constructor(mostAtOnce = MOST_AT_ONCE) {
    this.#mostAtOnce = mostAtOnce;
  }

  add(topic: string, service: Service): Cancel {
    if (this.#services.has(topic))
      throw new RangeError(`Cannot serve a topic: expected one without a service, got ${topic}`);
    this.#services.set(topic, service);
    return () => {
      if (this.#services.get(topic) === service) this.#services.delete(topic);
    };
  }

  has(topic: string): boolean {
    return this.#services.has(topic);
  }

  /**
   * Counts a request of a neighbour. Returns null if it has too many, or else the end of this one.
   */
  enter(node: string): Cancel | null {
    const count = this.#underWay.get(node) ?? 0;
    if (count >= this.#mostAtOnce) return null;
    this.#underWay.set(node, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#underWay.get(node) ?? 0) - 1;
      if (left > 0) this.#underWay.set(node, left);
      else this.#underWay.delete(node);
    };
  }

  /**
   * Answers a request: at once if the service does, and otherwise by a promise that never rejects.
   * A service that throws is a refusal, never an error of the transport.
   */
  answer(topic: string, body: Uint8Array, from: string): Served | Promise<Served> {
    const service = this.#services.get(topic);
    if (service === undefined) return { refused: 'topic' };
    try {
      const answer = service(body, from);
      return answer instanceof Uint8Array ? { body: answer } : servedBy(answer);
    } catch {
      return { refused: 'failed' };
    }
  }
}

async function servedBy(answer: Promise<Uint8Array>): Promise<Served> {
  try {
    return { body: await answer };
  } catch {
    return { refused: 'failed' };
  }
}
