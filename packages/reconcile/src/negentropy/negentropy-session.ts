/**
 * A session of negentropy, version 1, without I/O: a message in, a message out. The initiator is
 * the client of NIP-77. It learns both differences; the responder learns nothing.
 *
 * A range whose fingerprints differ is answered by its 16 parts, or by its ids if there are fewer
 * than 32. This is how the reference implementation divides ranges, so first messages are equal to
 * its own byte for byte. With a frame size limit, a message ends before the range that would
 * exceed it, and one fingerprint stands for all the rest, so that later messages come back to it.
 *
 * Where it is good: differences that lie together in time, such as the newest hour, cost a few
 * hundred bytes. Differences at random times cost up to a fingerprint of 19 bytes for each of 16
 * parts at every level, which is why our own session uses symbols.
 */

import { ReconcileError, refuse } from '../reconcile-error.ts';
import type { NegentropyItems } from './negentropy-items.ts';
import {
  decodeNegentropy,
  END,
  FINGERPRINT_BYTES,
  ID_BYTES,
  type NegentropyBound,
  RangeWriter,
  VERSION,
} from './negentropy-message.ts';

const PARTS = 16;
/** Most bytes of a skipped range and a last fingerprint: 10 + 1 + 32 + 1, and 2 + 1 + 16. */
const RESERVE = 64;
/**
 * The least limit of a message. The answer to one range is always shorter, so each message answers
 * one range at least.
 */
const LEAST_FRAME = 4096;

export interface NegentropyOptions {
  readonly role: 'initiator' | 'responder';
  /** Limit on the bytes of each message that is sent, from 4096 on. Default: none. */
  readonly frameSizeLimit?: number;
  /** Limit on the bytes that are sent and on those that are received. Default 256 MiB each. */
  readonly maxBytes?: number;
}

export class NegentropySession {
  readonly #items: NegentropyItems;
  readonly #initiates: boolean;
  readonly #frame: number;
  readonly #maxBytes: number;
  /** One byte per item of ours: 1 if the other side lacks it. */
  readonly #here: Uint8Array;
  readonly #there = new Map<string, Uint8Array>();
  #sent = 0;
  #received = 0;
  #done = false;

  constructor(items: NegentropyItems, options: NegentropyOptions) {
    const { role, frameSizeLimit = Number.MAX_SAFE_INTEGER, maxBytes = 2 ** 28 } = options;
    if (role !== 'initiator' && role !== 'responder')
      throw new TypeError(`Cannot reconcile: expected the role 'initiator' or 'responder', got ${role}`);
    if (!(frameSizeLimit >= LEAST_FRAME))
      throw new RangeError(
        `Cannot reconcile: expected a frameSizeLimit from ${LEAST_FRAME} on, got ${frameSizeLimit}`,
      );
    if (!(maxBytes >= 1024))
      throw new RangeError(`Cannot reconcile: expected maxBytes from 1024 on, got ${maxBytes}`);
    this.#items = items;
    this.#initiates = role === 'initiator';
    this.#frame = frameSizeLimit;
    this.#maxBytes = maxBytes;
    this.#here = new Uint8Array(this.#initiates ? items.size : 0);
  }

  /** True when the initiator knows all differences. A responder is never done. */
  get done(): boolean {
    return this.#done;
  }

  /** Ids of our items that the other side lacks, so far, for the initiator. */
  get onlyHere(): Uint8Array[] {
    const ids: Uint8Array[] = [];
    for (let i = 0; i < this.#here.length; i++)
      if (this.#here[i] === 1) ids.push(this.#items.idAt(i).slice());
    return ids;
  }

  /** Ids of items that we lack, so far, for the initiator. */
  get onlyThere(): Uint8Array[] {
    return [...this.#there.values()];
  }

  /** The first message of the initiator. */
  start(): Uint8Array<ArrayBuffer> {
    if (!this.#initiates || this.#sent > 0)
      throw new ReconcileError('unexpected', 'expected the start of an initiator, got another one');
    const writer = new RangeWriter();
    this.#divide(0, this.#items.size, END, writer);
    return this.#send(writer.finish());
  }

  /** Takes a message and returns the answer, or null if the initiator has nothing more to ask. */
  receive(message: Uint8Array): Uint8Array<ArrayBuffer> | null {
    this.#received += message.length;
    this.#checkLimit('received', this.#received);
    if (this.#initiates && (this.#sent === 0 || this.#done))
      throw new ReconcileError('unexpected', 'expected no message at this point, got one');
    if (!this.#initiates && isOtherVersion(message)) return this.#send(Uint8Array.of(VERSION));
    const answer = this.#answer(message);
    if (this.#initiates && answer.length === 1) {
      this.#done = true;
      return null;
    }
    return this.#send(answer);
  }

  #answer(message: Uint8Array): Uint8Array<ArrayBuffer> {
    const items = this.#items;
    const writer = new RangeWriter();
    let lower = 0;
    let bound: NegentropyBound | null = null;
    let skips = false;
    const writeSkip = () => {
      if (skips && bound !== null) writer.range({ mode: 'skip', upper: bound });
    };
    for (const range of decodeNegentropy(message)) {
      const upper = items.placeOf(range.upper, lower);
      const mark = writer.mark();
      let answered = false;
      if (range.mode === 'fingerprint') {
        answered = !sameBytes(range.fingerprint, items.fingerprint(lower, upper));
        if (answered) {
          writeSkip();
          this.#divide(lower, upper, range.upper, writer);
        }
      } else if (range.mode === 'ids' && this.#initiates) this.#compare(lower, upper, range.ids);
      else if (range.mode === 'ids') {
        answered = true;
        writeSkip();
        const end = Math.min(upper, lower + this.#roomForIds(writer));
        const place = end < upper ? items.boundBefore(end) : range.upper;
        if (end > lower || end === upper)
          writer.range({ mode: 'ids', upper: place, ids: items.idsOf(lower, end) });
        if (end < upper) return this.#rest(writer, end);
      }
      if (writer.length > this.#frame - RESERVE) {
        writer.reset(mark);
        writeSkip();
        return this.#rest(writer, lower);
      }
      skips = !answered;
      bound = range.upper;
      lower = upper;
    }
    return writer.finish();
  }

  /** Ends a message with the fingerprint of all items from a place on. */
  #rest(writer: RangeWriter, start: number): Uint8Array<ArrayBuffer> {
    const fingerprint = this.#items.fingerprint(start, this.#items.size);
    writer.range({ mode: 'fingerprint', upper: END, fingerprint });
    return writer.finish();
  }

  /** Writes our items of a range: ids if they are few, fingerprints of 16 parts if not. */
  #divide(lower: number, upper: number, bound: NegentropyBound, writer: RangeWriter): void {
    const items = this.#items;
    const count = upper - lower;
    if (count < 2 * PARTS) {
      writer.range({ mode: 'ids', upper: bound, ids: items.idsOf(lower, upper) });
      return;
    }
    let start = lower;
    for (let part = 0; part < PARTS; part++) {
      const end = start + Math.floor(count / PARTS) + (part < count % PARTS ? 1 : 0);
      const place = end === upper ? bound : items.boundBefore(end);
      writer.range({ mode: 'fingerprint', upper: place, fingerprint: items.fingerprint(start, end) });
      start = end;
    }
  }

  /** Number of ids that a message still has room for. */
  #roomForIds(writer: RangeWriter): number {
    // Besides the ids: a bound of 43 bytes, the mode and their number.
    return Math.max(0, Math.floor((this.#frame - RESERVE - writer.length - 54) / ID_BYTES));
  }

  /** Compares the other side's ids of a range with ours. */
  #compare(lower: number, upper: number, ids: Uint8Array): void {
    const theirs = new Map<string, number>();
    for (let at = 0; at < ids.length; at += ID_BYTES) theirs.set(nameOf(ids.subarray(at, at + ID_BYTES)), at);
    for (let i = lower; i < upper; i++) {
      if (!theirs.delete(nameOf(this.#items.idAt(i)))) this.#here[i] = 1;
    }
    for (const [name, at] of theirs) this.#there.set(name, ids.slice(at, at + ID_BYTES));
  }

  #send(message: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    this.#sent += message.length;
    this.#checkLimit('sent', this.#sent);
    return message;
  }

  #checkLimit(what: string, bytes: number): void {
    if (bytes > this.#maxBytes)
      throw new ReconcileError('limit', `expected at most ${this.#maxBytes} bytes ${what}, got ${bytes}`);
  }
}

/** "It should reply with a single byte containing the highest protocol version it supports." */
function isOtherVersion(message: Uint8Array): boolean {
  if (message.length > 0 && (message[0] < 0x60 || message[0] > 0x6f))
    refuse('a version from 0x60 to 0x6f', `0x${message[0].toString(16)}`, 'negentropy message');
  return message.length > 0 && message[0] !== VERSION;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < FINGERPRINT_BYTES; i++) if (a[i] !== b[i]) return false;
  return true;
}

function nameOf(id: Uint8Array): string {
  return String.fromCharCode(...id);
}
