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
  /** The keys that both sides want to be sent after the search: `FROM_…` flags. */
  readonly flows: number;
  /** Symbols that were sent or received. */
  readonly symbols: number;
  /** The estimated number of differences, or null if there is none yet. */
  readonly estimate: number | null;
}

export interface RoleOptions {
  /** Our 8 bytes of randomness. */
  readonly random: Uint8Array;
  /** The keys that we want to be sent after the search: `FROM_…` flags. */
  readonly flows: number;
  /** Whether round trips matter more than bytes. */
  readonly eager: boolean;
  readonly maxSymbols: number;
}

/** The number of differences that a responder expects if the hello says nothing about them. */
export const BLIND_ESTIMATE = 45;

/** Flags of a hello and of a summary. */
export const KEPT = 1;
export const FROM_INITIATOR = 2;
export const FROM_RESPONDER = 4;
export const FLOWS: number = FROM_INITIATOR | FROM_RESPONDER;
/** Flag of a hello. */
export const HELLO_EAGER = 8;
/** Flags of a summary. */
export const SUMMARY_LIST = 8;
export const SUMMARY_EQUAL = 16;
/** The flags from this one on are the bytes of an id minus 5. */
export const SUMMARY_WIDTH = 32;

export const EQUAL: Difference = {
  onlyHere: /* @__PURE__ */ new Uint32Array(0),
  onlyThereCount: 0,
  method: 'equal',
};

export function unexpected({ type }: Message): never {
  throw new ReconcileError('unexpected', `expected another message at this point, got ${nameOf(type)}`);
}
