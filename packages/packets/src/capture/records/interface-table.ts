/**
 * The interfaces of a pcapng section, as columns, and the conversion of their timestamps.
 *
 * A timestamp is a 64-bit number of units, and an interface says what a unit is: 10^-r or 2^-r
 * seconds. Units of up to nine decimal digits are divided in steps of 16 bits, which doubles do
 * exactly (every intermediate value is below 2^46). Other units, which no common program writes,
 * go through BigInt and are rounded down to a nanosecond.
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
    const resolution = this.#resolutions[id];
    if (resolution > 9) {
      this.#divideLarge(resolution, high, low);
    } else {
      const units = 10 ** resolution;
      const top = Math.floor(high / units);
      const upper = (high - top * units) * 65_536 + (low >>> 16);
      const middle = Math.floor(upper / units);
      const lower = (upper - middle * units) * 65_536 + (low & 0xffff);
      const bottom = Math.floor(lower / units);
      this.seconds = top * 4_294_967_296 + middle * 65_536 + bottom;
      this.nanoseconds = (lower - bottom * units) * 10 ** (9 - resolution);
    }
    this.seconds += this.#offsets[id];
  }

  #divideLarge(resolution: number, high: number, low: number): void {
    const exponent = BigInt(resolution & 127);
    const units = (resolution & 128) === 0 ? 10n ** exponent : 2n ** exponent;
    const time = BigInt(high) * 4_294_967_296n + BigInt(low);
    this.seconds = Number(time / units);
    this.nanoseconds = Number(((time % units) * 1_000_000_000n) / units);
  }
}
