/**
 * Leaves the full state of this node's summary with a transport that has a place for it, so that a
 * node that joins need not ask every neighbour for everything.
 *
 * A state is left after the first message, and again when the messages since then have as many
 * bytes as it has. So states at most double the bytes that are published, and the changes since a
 * state are never longer than a new state would be. Small summaries wait for 4 KiB.
 */

import type { SlicedWork, Steps } from './sliced-work.ts';

export interface LeftStateOptions {
  readonly work: SlicedWork;
  /** Builds the full state. */
  readonly full: () => Steps<Uint8Array>;
  readonly leave: (state: Uint8Array) => void;
  readonly failed: (error: unknown) => void;
}

const LEAST_BYTES = 4096;

export class LeftState {
  readonly #options: LeftStateOptions;
  /** Bytes that must be published before the next state. */
  #due = 0;
  #isRunning = false;

  constructor(options: LeftStateOptions) {
    this.#options = options;
  }

  /** A message of this length was published. */
  published(bytes: number): void {
    const { work, full, leave, failed } = this.#options;
    this.#due -= bytes;
    if (this.#due > 0 || this.#isRunning) return;
    this.#isRunning = true;
    work.run(
      full(),
      (state) => {
        this.#isRunning = false;
        this.#due = Math.max(LEAST_BYTES, state.length);
        leave(state);
      },
      (error) => {
        this.#isRunning = false;
        failed(error);
      },
    );
  }
}
