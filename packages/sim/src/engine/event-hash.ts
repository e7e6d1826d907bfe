/**
 * A running hash over the events of a simulation: which node, when, which kind, in order. Two runs
 * with the same hash went the same way, except by an accident of one in 2^64; it is not made
 * against an adversary.
 *
 * The bytes of messages are not in it. A node that reads other bytes acts in another way sooner or
 * later.
 */

const { imul } = Math;

export class EventHash {
  readonly #time = new Float64Array(1);
  readonly #halves = new Uint32Array(this.#time.buffer);
  #low = 0x9e3779b9 | 0;
  #high = 0x85ebca6b | 0;

  /** Adds an event of a node, which is given by a 32-bit number for its id. */
  add(timeMs: number, node: number, kind: number): void {
    this.#time[0] = timeMs;
    // Adding zero makes one bit pattern of the two zeros.
    this.#time[0] += 0;
    let low = imul(this.#low ^ this.#halves[0], 0x85ebca77) ^ imul(node + kind, 0xc2b2ae3d);
    let high = imul(this.#high ^ this.#halves[1], 0x27d4eb2f) ^ imul(node ^ (kind << 24), 0x165667b1);
    low ^= low >>> 15;
    high ^= high >>> 13;
    this.#low = imul(low + high, 0x9e3779b1);
    this.#high = imul(high ^ ((this.#low << 17) | (this.#low >>> 15)), 0x85ebca77);
  }

  /** Sixteen hexadecimal digits. */
  toString(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }
}
