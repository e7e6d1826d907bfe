/**
 * The two roles of a session. The initiator speaks first, decodes and tells the responder its part.
 * The responder sends symbols and gives the verdict. Neither reads or writes anything: messages go
 * in by `receive`, and come out by `pull`.
 */

import { ReconcileError } from '../reconcile-error.ts';
import { type Message, nameOf } from '../wire/message.ts';

/** The way in which the differences were found. */
export type ReconcileMethod = 'equal' | 'symbols' | 'filter' | 'list';

/** The end of the search: both sides agree on the keys that they have in common. */
export interface Difference {
  /** The places of our keys that the other side lacks, in rising order. */
  readonly onlyHere: Uint32Array;
  /** Number of keys that only the other side holds. */
  readonly onlyThereCount: number;
  readonly method: ReconcileMethod;
}

export interface Role {
  receive(message: Message): void;
  /** The next message to send, or null if there is none now. */
  pull(): Message | null;
  readonly difference: Difference | null;
  /** True if no answer waits to be sent. */
  readonly idle: boolean;
  /** Whether both sides want to exchange the keys themselves. */
  readonly exchange: boolean;
  /** Symbols that were sent or received. */
  readonly symbols: number;
  /** The estimated number of differences, or null if there is no estimate on this side. */
  readonly estimate: number | null;
}

export interface RoleOptions {
  /** Our 8 bytes of randomness. */
  readonly random: Uint8Array;
  readonly exchange: boolean;
  readonly firstSymbols: number;
  readonly maxSymbols: number;
}

/** The symbols of the first summary, unless the initiator asks for another number. */
export const FIRST_SYMBOLS = 64;
/** The most symbols that an initiator can ask for in its hello. */
export const MOST_FIRST_SYMBOLS = 4096;

export const HELLO_KEPT = 1;
export const HELLO_EXCHANGE = 2;
export const HELLO_FIRST = 4;
export const SUMMARY_KEPT = 1;
export const SUMMARY_EXCHANGE = 2;
export const SUMMARY_LIST = 4;
export const SUMMARY_EQUAL = 8;

export function unexpected({ type }: Message): never {
  throw new ReconcileError('unexpected', `expected another message at this point, got ${nameOf(type)}`);
}
