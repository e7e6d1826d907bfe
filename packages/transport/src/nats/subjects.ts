/**
 * The subjects of one fleet on a NATS server:
 *
 *     bloomery.<fleet>.here.<node>                   presence of a node, every 5 s
 *     bloomery.<fleet>.said.<node>.<topic>           messages of a node on a topic
 *     bloomery.<fleet>.ask.<node>.<life>.<topic>     requests to a node
 *     bloomery.<fleet>.ask.<node>.<life>.-           greetings, which are answered with the presence
 *     bloomery.<fleet>.answer.<node>.<life>.<number> answers to a request of a node
 *
 * A life is a random word of one run of a node. It stands in the subject of a request, so that a
 * request to a node that has restarted meanwhile has no receiver, and the server says so at once.
 *
 * All subjects begin with the name of the fleet, so one line of permissions covers them, and two
 * fleets on one server do not hear each other. A node subscribes to a topic of all nodes by one
 * wildcard. We refused one subscription per neighbour: 256 nodes would have 65,000 subscriptions
 * at the server instead of 256, and a summary is of interest to all nodes anyway.
 */

import { checkTopic } from '../transport.ts';

/** The protocol of docs/spec/peer-nats.md, as macs cover it. */
export const NATS_PROTOCOL = 'bloomery-nats 1';

const PREFIX = 'bloomery';
const FLEET = /^[A-Za-z0-9_-]{1,64}$/;
const PLAIN = /^[A-Za-z0-9_-]$/;
const ESCAPE = '=';

/** True if a text can be the name of a fleet: up to 64 letters, digits, `_` and `-`. */
export function isFleetName(text: string): boolean {
  return FLEET.test(text);
}

/**
 * A text as one token of a subject. Letters, digits, `_` and `-` stand for themselves, every other
 * byte is `=` and two hexadecimal digits. The result can also be a part of a key of a KV bucket.
 */
export function subjectToken(text: string): string {
  let token = '';
  for (const byte of Buffer.from(text)) {
    const letter = String.fromCharCode(byte);
    token += PLAIN.test(letter) ? letter : `${ESCAPE}${byte.toString(16).padStart(2, '0')}`;
  }
  return token;
}

/** The text of a token. */
export function tokenText(token: string): string {
  const bytes = token.replaceAll(/=([0-9a-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

export class FleetSubjects {
  readonly #root: string;
  /** The name of the bucket with the states of the fleet. */
  readonly bucket: string;

  constructor(fleet: string) {
    if (!isFleetName(fleet))
      throw new RangeError(
        `Cannot name a fleet on NATS: expected up to 64 letters, digits, _ and -, got ${JSON.stringify(fleet)}`,
      );
    this.#root = `${PREFIX}.${fleet}`;
    this.bucket = `${PREFIX}_${fleet}`;
  }

  here(node: string): string {
    return `${this.#root}.here.${subjectToken(node)}`;
  }

  get allHere(): string {
    return `${this.#root}.here.*`;
  }

  said(node: string, topic: string): string {
    checkTopic(topic);
    return `${this.#root}.said.${subjectToken(node)}.${subjectToken(topic)}`;
  }

  allSaid(topic: string): string {
    checkTopic(topic);
    return `${this.#root}.said.*.${subjectToken(topic)}`;
  }

  ask(node: string, life: string, topic: string): string {
    return `${this.#root}.ask.${subjectToken(node)}.${life}.${subjectToken(topic)}`;
  }

  /** The subject of greetings to a life of a node. No topic begins with a dash. */
  greet(node: string, life: string): string {
    return this.ask(node, life, '-');
  }

  allAsks(node: string, life: string): string {
    return `${this.#root}.ask.${subjectToken(node)}.${life}.*`;
  }

  answer(node: string, life: string, number: number): string {
    return `${this.#root}.answer.${subjectToken(node)}.${life}.${number}`;
  }

  allAnswers(node: string, life: string): string {
    return `${this.#root}.answer.${subjectToken(node)}.${life}.*`;
  }

  /** The keys of the states of all nodes on a topic. */
  statesOf(topic: string): string {
    return `*.${subjectToken(topic)}`;
  }

  /** The key of the state of a node in the bucket, which its signature covers as a subject. */
  stateKey(node: string, topic: string): string {
    return `${subjectToken(node)}.${subjectToken(topic)}`;
  }
}
