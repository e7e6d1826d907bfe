/**
 * The interfaces of a pcapng section, as columns, and the conversion of their timestamps.
 *
 * A timestamp is a 64-bit number of units, and an interface says what a unit is: 10^-r or 2^-r
 * seconds. For units of up to nine decimal digits the upper half is divided once and kept, because
 * it changes every few seconds of a capture only; what is added to its remainder stays below 2^33,
 * which doubles divide exactly. Other units, which no common program writes, go through BigInt and
 * are rounded down to a nanosecond.
 */

import { CAPTURE, CaptureError } from '../capture-error.ts';

/**
 * Interfaces that a section may declare. Machines with thousands of containers have thousands of
 * interfaces; a file with more than this is damaged.
 */
const MAX_INTERFACES = 65_536;

const OPTION_END = 0;
const OPTION_RESOLUTION = 9;
const OPTION_OFFSET = 14;

export class InterfaceTable {
  readonly #linkTypes: number[] = [];
  readonly #snapLengths: number[] = [];
  readonly #resolutions: number[] = [];
  readonly #offsets: number[] = [];
  /** The interface and the upper half of the last timestamp, and what they come to. */
  #lastId = -1;
  #lastHigh = 0;
  #baseSeconds = 0;
  #baseUnits = 0;
  #units = 1;
  #nanosecondsEach = 0;
  /** Result of `divide`. */
  seconds = 0;
  /** Result of `divide`. */
  nanoseconds = 0;

  get size(): number {
    return this.#linkTypes.length;
  }

  /** True if another interface would be more than the limit. */
  get isFull(): boolean {
    return this.size >= MAX_INTERFACES;
  }

  linkType(id: number): number {
    return this.#linkTypes[id];
  }

  /** Bytes of a packet that the interface captured at most. */
  snapLength(id: number): number {
    return this.#snapLengths[id] === 0 ? 0xffff_ffff : this.#snapLengths[id];
  }

  clear(): void {
    this.#linkTypes.length = 0;
    this.#snapLengths.length = 0;
    this.#resolutions.length = 0;
    this.#offsets.length = 0;
    this.#lastId = -1;
  }

  /** Adds the interface that the body of a block from `at` to `end` describes. */
  add(view: DataView, at: number, end: number, littleEndian: boolean, position: number): void {
    if (this.isFull) {
      const reason = `expected at most ${MAX_INTERFACES} interfaces in a section, got another one`;
      throw new CaptureError('limit', CAPTURE, reason, position);
    }
    let resolution = 6;
    let offset = 0;
    let option = at + 8;
    while (end - option >= 4) {
      const code = view.getUint16(option, littleEndian);
      const length = view.getUint16(option + 2, littleEndian);
      if (code === OPTION_END || length > end - option - 4) break;
      if (code === OPTION_RESOLUTION && length >= 1) resolution = view.getUint8(option + 4);
      if (code === OPTION_OFFSET && length >= 8) offset = Number(view.getBigInt64(option + 4, littleEndian));
      option += 4 + Math.ceil(length / 4) * 4;
    }
    this.#linkTypes.push(view.getUint16(at, littleEndian));
    this.#snapLengths.push(view.getUint32(at + 4, littleEndian));
    this.#resolutions.push(resolution);
    this.#offsets.push(offset);
  }

  /** Divides a timestamp of an interface into `seconds` and `nanoseconds`. */
  divide(id: number, high: number, low: number): void {
    if (id !== this.#lastId || high !== this.#lastHigh) this.#divideHigh(id, high);
    if (this.#units === 0) {
      this.#divideLarge(id, high, low);
      return;
    }
    const units = this.#baseUnits + low;
    const seconds = Math.floor(units / this.#units);
    this.seconds = this.#baseSeconds + seconds;
    this.nanoseconds = (units - seconds * this.#units) * this.#nanosecondsEach;
  }

  #divideHigh(id: number, high: number): void {
    const resolution = this.#resolutions[id];
    this.#lastId = id;
    this.#lastHigh = high;
    this.#units = resolution > 9 ? 0 : 10 ** resolution;
    if (resolution > 9) return;
    this.#nanosecondsEach = 10 ** (9 - resolution);
    const units = BigInt(this.#units);
    const time = BigInt(high) << 32n;
    this.#baseSeconds = Number(time / units) + this.#offsets[id];
    this.#baseUnits = Number(time % units);
  }

  #divideLarge(id: number, high: number, low: number): void {
    const resolution = this.#resolutions[id];
    const exponent = BigInt(resolution & 127);
    const units = (resolution & 128) === 0 ? 10n ** exponent : 2n ** exponent;
    const time = BigInt(high) * 4_294_967_296n + BigInt(low);
    this.seconds = Number(time / units) + this.#offsets[id];
    this.nanoseconds = Number(((time % units) * 1_000_000_000n) / units);
  }
}
