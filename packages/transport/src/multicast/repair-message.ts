/**
 * The requests for messages that did not come, which travel over the peer port and are signed as
 * all requests there. They have two topics. One asks for messages to be sent to the group again,
 * and its answer is one byte. The other fetches one message, and its answer is the bare message,
 * because a message may be as long as an answer may be. Requests are JSON, because later versions
 * add fields.
 */

import { isTopic } from '../transport.ts';

export interface RepairAsk {
  /** The life of the publisher, so that a restarted one does not answer with other messages. */
  readonly life: string;
  readonly topic: string;
  /** The numbers that are missing, rising; at least one. */
  readonly numbers: readonly number[];
}

/** The topic of requests that bring messages to the group again. */
export const REPEAT_TOPIC = 'multicast.repeat';
/** The topic of requests for one message. */
export const FETCH_TOPIC = 'multicast.fetch';

/** The most messages that one request may ask for. */
export const MOST_REPAIRED = 32;

const MOST_BYTES = 1024;

export function encodeAsk(ask: RepairAsk): Uint8Array {
  return Buffer.from(JSON.stringify(ask));
}

/** Reads a request. Null if it is none. */
export function decodeAsk(bytes: Uint8Array): RepairAsk | null {
  if (bytes.length > MOST_BYTES) return null;
  let value: Partial<Record<keyof RepairAsk, unknown>> | null;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  const { life, topic, numbers } = value ?? {};
  if (typeof life !== 'string' || typeof topic !== 'string' || !isTopic(topic)) return null;
  return isNumbers(numbers) ? { life, topic, numbers } : null;
}

/** The answer to a request on REPEAT_TOPIC: whether all messages are still kept. */
export function encodeRepeated(isKept: boolean): Uint8Array {
  return Uint8Array.of(isKept ? 1 : 0);
}

/** Reads that answer. Bytes that are none count as no. */
export function decodeRepeated(bytes: Uint8Array): boolean {
  return bytes.length === 1 && bytes[0] === 1;
}

function isNumbers(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_REPAIRED) return false;
  return value.every((number, i) => Number.isSafeInteger(number) && number > (value[i - 1] ?? 0));
}
