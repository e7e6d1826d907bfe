/**
 * Reads replies of Redis in RESP2 from the bytes of a connection, for plain-connection.ts.
 *
 * A reply that lies whole in one chunk is read where it lies. Otherwise its chunks are gathered
 * until the part that is known to be missing is there, and then it is read from its beginning
 * again. That costs a walk over the lengths and no second copy of the values, so a snapshot of
 * many megabytes is copied once into place and once out of it.
 *
 * The server's lengths are never trusted for an allocation: memory grows with the bytes that came.
 */

/** A text, a number, bytes, null, an error of the server, or a list of these. */
export type Reply = string | number | Uint8Array | null | Error | Reply[];

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;
/** Lists in lists: a reply of XREAD has four levels. */
const MOST_DEPTH = 8;
/** A line with a length, a number, a state or an error. */
const MOST_LINE = 64 * 1024;
/** The longest value of Redis. */
const MOST_BYTES = 512 * 1024 * 1024;
const FIRST_BYTES = 128 * 1024;

export class ReplyReader {
  readonly #onReply: (reply: Reply) => void;
  #held: Buffer = Buffer.alloc(0);
  #heldLength = 0;
  /** Bytes that the reply has at least. */
  #needed = 0;
  #source: Buffer = this.#held;
  #at = 0;

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply;
  }

  /**
   * Takes the next bytes, which the caller may overwrite afterwards. Throws if they are no RESP2.
   */
  take(chunk: Uint8Array): void {
    if (this.#heldLength === 0) {
      const rest = this.#readAll(asBuffer(chunk));
      if (rest < chunk.length) this.#hold(chunk.subarray(rest));
      return;
    }
    this.#hold(chunk);
    if (this.#heldLength < this.#needed) return;
    const held = this.#held.subarray(0, this.#heldLength);
    const rest = this.#readAll(held);
    if (rest === 0) return;
    this.#held = Buffer.alloc(0);
    this.#heldLength = 0;
    if (rest < held.length) this.#hold(held.subarray(rest));
  }

  /** Reads whole replies, and returns the place after the last of them. */
  #readAll(source: Buffer): number {
    this.#source = source;
    for (let from = 0; ; from = this.#at) {
      if (from === source.length) return from;
      this.#at = from;
      const reply = this.#read(0);
      if (reply === undefined) {
        this.#needed -= from;
        return from;
      }
      this.#onReply(reply);
    }
  }

  #hold(bytes: Uint8Array): void {
    const length = this.#heldLength + bytes.length;
    if (length > this.#held.length) {
      const larger = Buffer.alloc(Math.max(FIRST_BYTES, 2 * length));
      larger.set(this.#held.subarray(0, this.#heldLength));
      this.#held = larger;
    }
    this.#held.set(bytes, this.#heldLength);
    this.#heldLength = length;
  }

  /** The next reply, or undefined if bytes are missing. */
  #read(depth: number): Reply | undefined {
    const from = this.#at;
    const line = this.#line();
    if (line === undefined) return undefined;
    switch (this.#source[from]) {
      case 0x2b: // +
        return line;
      case 0x2d: // -
        return new Error(line);
      case 0x3a: // :
        return wholeNumber(line);
      case 0x24: // $
        return this.#bytes(wholeNumber(line));
      case 0x2a: // *
        return this.#list(wholeNumber(line), depth);
      default:
        throw unreadable(`the type ${this.#source[from]}`);
    }
  }

  /** The text between a type and the end of its line. */
  #line(): string | undefined {
    const from = this.#at + 1;
    const end = this.#source.indexOf(CARRIAGE_RETURN, from);
    if (end < 0 || end + 1 >= this.#source.length) {
      if (this.#source.length - from > MOST_LINE) throw unreadable(`a line of more than ${MOST_LINE} bytes`);
      this.#needed = this.#source.length + 1;
      return undefined;
    }
    if (this.#source[end + 1] !== LINE_FEED) throw unreadable('a line without its end');
    this.#at = end + 2;
    return this.#source.toString('utf8', from, end);
  }

  #bytes(length: number): Uint8Array | null | undefined {
    if (length === -1) return null;
    if (length < 0 || length > MOST_BYTES) throw unreadable(`a value of ${length} bytes`);
    const from = this.#at;
    if (from + length + 2 > this.#source.length) {
      this.#needed = from + length + 2;
      return undefined;
    }
    if (this.#source[from + length] !== CARRIAGE_RETURN || this.#source[from + length + 1] !== LINE_FEED)
      throw unreadable('a value without its end');
    this.#at = from + length + 2;
    return Buffer.from(this.#source.subarray(from, from + length));
  }

  #list(length: number, depth: number): Reply[] | null | undefined {
    if (length === -1) return null;
    if (length < 0) throw unreadable(`a list of ${length}`);
    if (depth === MOST_DEPTH) throw unreadable(`more than ${MOST_DEPTH} lists in each other`);
    const list: Reply[] = [];
    for (let i = 0; i < length; i++) {
      const one = this.#read(depth + 1);
      if (one === undefined) return undefined;
      list.push(one);
    }
    return list;
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function wholeNumber(line: string): number {
  if (!/^-?\d{1,19}$/.test(line)) throw unreadable(`${JSON.stringify(line.slice(0, 40))} as a number`);
  return Number(line);
}

function unreadable(what: string): RangeError {
  return new RangeError(`Cannot read a reply of Redis: expected RESP2, got ${what}`);
}
