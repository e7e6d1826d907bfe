/**
 * The two roles of a session. The initiator speaks first, decodes and tells the responder its part.
 * The responder sends symbols and gives the verdict. Neither reads or writes anything: messages go
 * in by `receive`, and come out by `pull`.
 */

import type { Message } from '../wire/message.ts';

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
  /** Messages that wait to be sent. */
  readonly out: readonly Message[];
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

export const EQUAL: Difference = {
  onlyHere: /* @__PURE__ */ new Uint32Array(0),
  onlyThereCount: 0,
  method: 'equal',
};
