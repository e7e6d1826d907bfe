/**
 * A small generator with a seed, so that the scenes of the attack give the same figures on every
 * machine. It has 32 bits of state and is not for secrets.
 */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** 32 random bits, unsigned: splitmix32. */
  bits(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let z = this.#state ^ (this.#state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }

  /** An integer from 0 to below `end`. */
  below(end: number): number {
    return Math.floor((this.bits() / 2 ** 32) * end);
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.bits() & 255);
  }

  shuffle<T>(list: T[]): T[] {
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }
}
