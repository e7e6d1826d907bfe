/**
 * The answer that a publisher gave last. When a fleet starts, all subscribers send the same
 * request, and a copy of a small answer is cheaper than its encoding and its checksum. Only small
 * answers are kept: the announcer keeps the code of a large state anyway.
 */

import { sameBytes } from '../coding/byte-stream.ts';
import type { Generation } from './sync-message.ts';

const MOST_BYTES = 4096;

export class LastAnswer {
  #generation: Generation | undefined;
  #request = new Uint8Array();
  #answer = new Uint8Array();

  /** The answer to a request about this generation, if it is the last one: a copy. */
  to(request: Uint8Array, generation: Generation): Uint8Array | undefined {
    if (generation !== this.#generation || !sameBytes(request, this.#request)) return undefined;
    return new Uint8Array(this.#answer);
  }

  keep(request: Uint8Array, generation: Generation, answer: Uint8Array): void {
    if (answer.length > MOST_BYTES) return;
    this.#generation = generation;
    this.#request = new Uint8Array(request);
    this.#answer = new Uint8Array(answer);
  }
}
