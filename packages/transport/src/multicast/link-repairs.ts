/**
 * The repairs of all links, by life and topic. Messages on topics without a subscription are only
 * counted, so that a later subscription begins with the right number.
 */

import type { Clock } from '../clock.ts';
import type { PresenceLink } from '../presence/presence-link.ts';
import { MessageRepair } from './message-repair.ts';
import type { RepairAsk } from './repair-message.ts';

export interface LinkRepairsOptions {
  readonly clock: Clock;
  /** The number of neighbours now. */
  readonly neighbours: () => number;
  readonly repeat: (link: PresenceLink, ask: RepairAsk) => Promise<boolean>;
  readonly fetch: (link: PresenceLink, ask: RepairAsk) => Promise<Uint8Array>;
  /** A gap was left to the protocol of the topic. */
  readonly givenUp: () => void;
  /** Datagrams did not come, and one of those has come after all. */
  readonly missed: (datagrams: number) => void;
  readonly repaired: () => void;
}

export class LinkRepairs {
  readonly #options: LinkRepairsOptions;
  readonly #repairs = new Map<PresenceLink, Map<string, MessageRepair>>();

  constructor(options: LinkRepairsOptions) {
    this.#options = options;
  }

  /** A message has come from the group. */
  message(link: PresenceLink, topic: string, number: number, bytes: Uint8Array): void {
    link.heard();
    const repair = this.#of(link, topic);
    if (repair === null) link.message(topic, number, bytes);
    else repair.take(number, bytes);
  }

  /** A message was published that is too long for the group. */
  announced(link: PresenceLink, topic: string, number: number): void {
    link.heard();
    this.#of(link, topic)?.announced(number);
  }

  /** A beat names these numbers. */
  known(link: PresenceLink, numbers: Readonly<Record<string, number>>): void {
    for (const [topic, number] of Object.entries(numbers)) this.#of(link, topic)?.known(number);
  }

  /** The link went down. Its messages begin again when it comes up. */
  forget(link: PresenceLink): void {
    for (const repair of this.#repairs.get(link)?.values() ?? []) repair.close();
    this.#repairs.delete(link);
  }

  close(): void {
    for (const link of [...this.#repairs.keys()]) this.forget(link);
  }

  /** Returns null if there is no subscription. */
  #of(link: PresenceLink, topic: string): MessageRepair | null {
    let repairs = this.#repairs.get(link);
    const found = repairs?.get(topic);
    const { current } = link;
    if (!link.isUp || current === null || !link.listensTo(topic)) {
      found?.close();
      repairs?.delete(topic);
      return null;
    }
    if (found !== undefined) return found;
    if (repairs === undefined) this.#repairs.set(link, (repairs = new Map()));
    const { clock, neighbours, repeat, fetch, givenUp, missed, repaired } = this.#options;
    const { life } = current;
    const repair = new MessageRepair({
      clock,
      neighbours,
      delivered: link.lastNumber(topic),
      repeat: (numbers) => repeat(link, { life, topic, numbers }),
      fetch: (number) => fetch(link, { life, topic, numbers: [number] }),
      deliver: ({ number, bytes }) => link.message(topic, number, bytes),
      lost: (upTo) => {
        givenUp();
        link.missed(topic, upTo);
      },
      missed,
      repaired,
    });
    repairs.set(topic, repair);
    return repair;
  }
}
