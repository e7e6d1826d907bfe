/**
 * The checksum by pages of bytes that arrive in pieces of any size. An incomplete page is buffered
 * until it is full.
 */

import { PAGE, pageSum } from './envelope.ts';

export class RunningChecksum {
  readonly #rest = new Uint8Array(PAGE);
  #restBytes = 0;
  #page = 0;
  #sum = 0;

  add(bytes: Uint8Array): void {
    let at = this.#fill(bytes);
    // The buffered page is still incomplete, so it took all bytes.
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

  /**
   * Adds bytes to the buffered page, and hashes it if it is full. Returns how many bytes went into
   * it.
   */
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
