/** The checksum by pages of bytes that come in pieces, whatever their sizes: a page that is not full waits for the rest. */

import { PAGE, pageSum } from './envelope.ts';

export class RunningChecksum {
  readonly #rest = new Uint8Array(PAGE);
  #restBytes = 0;
  #page = 0;
  #sum = 0;

  add(bytes: Uint8Array): void {
    let at = this.#fill(bytes);
    // A page waits until it is full: before that, nothing is left to hash in place.
    if (this.#restBytes > 0) return;
    for (; bytes.length - at >= PAGE; at += PAGE)
      this.#sum ^= pageSum(this.#page++, bytes.subarray(at, at + PAGE));
    this.#rest.set(bytes.subarray(at));
    this.#restBytes = bytes.length - at;
  }

  /** The checksum of all bytes so far, an unsigned 32-bit number. */
  value(): number {
    const rest = this.#rest.subarray(0, this.#restBytes);
    return (this.#restBytes === 0 ? this.#sum : this.#sum ^ pageSum(this.#page, rest)) >>> 0;
  }

  /** Completes a page that waits. Returns how many bytes went into it. */
  #fill(bytes: Uint8Array): number {
    if (this.#restBytes === 0) return 0;
    const part = bytes.subarray(0, PAGE - this.#restBytes);
    this.#rest.set(part, this.#restBytes);
    this.#restBytes += part.length;
    if (this.#restBytes === PAGE) {
      this.#sum ^= pageSum(this.#page++, this.#rest);
      this.#restBytes = 0;
    }
    return part.length;
  }
}
