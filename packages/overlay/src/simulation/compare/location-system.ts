/**
 * A way to find objects, in a comparison: all ways live in the same simulated network, see the same
 * changes, and are asked the same questions. Each counts its own messages.
 */

import type { SimObject } from '../route-world.ts';

/** The cost and the result of one question. */
export interface Outcome {
  /** Whether a node that holds the object was reached. */
  readonly isFound: boolean;
  readonly messages: number;
  readonly bytes: number;
  /** Messages that had to wait for each other, one way each. */
  readonly hops: number;
  readonly latencyMs: number;
  /** Nodes that were asked for the object and did not have it, or did not answer. */
  readonly wrongTurns: number;
}

export interface LocationSystem {
  readonly name: string;
  /** Tells the others what has changed in this round. Returns the bytes that all nodes sent. */
  publish(): number;
  /** Finds an object from a node. */
  find(start: number, object: SimObject): Outcome;
  /** Bytes that a node holds about others, on average. */
  stateBytes(): number;
}

/** One way between two nodes. */
export const HOP_MS = 20;
/** The time after which a node that does not answer is given up. */
export const TIMEOUT_MS = 500;
/** Bytes of a question or an answer without a list, with the headers of UDP and IP. */
export const QUESTION_BYTES = 28 + 40;
/** Headers of a message, in addition to its contents. */
export const HEADER_BYTES = 28 + 16;
