/** The outcome of a comparison, as the command prints it. */

import type { ReconcileMethod, ReconcileResult } from '@bloomery/reconcile';

export interface KeyDifference {
  /** Keys of the first side that the second one lacks, in their order. */
  readonly onlyHere: readonly Uint8Array[];
  /** Keys of the second side that the first one lacks, or null if they were not sent. */
  readonly onlyThere: readonly Uint8Array[] | null;
  readonly onlyThereCount: number;
  readonly cost: SessionCost;
}

interface SessionCost {
  readonly method: ReconcileMethod;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Upper bound: answers may arrive to an earlier question while another one is on its way. */
  readonly roundTrips: number;
  /** Salts that were tried. */
  readonly attempts: number;
}

/** Our keys of a result. Packed keys are given back as bytes. */
export function ownKeys({ onlyHere }: ReconcileResult): readonly Uint8Array[] {
  return onlyHere as readonly Uint8Array[];
}

/** Counts round trips: how often bytes came after bytes were sent. */
export class RoundTrips {
  #asked = false;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  sent(): void {
    this.#asked = true;
  }

  received(): void {
    if (this.#asked) this.#count++;
    this.#asked = false;
  }
}
