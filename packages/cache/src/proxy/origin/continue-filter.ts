/**
 * Lets an origin send `100 Continue` unasked, which undici takes for a broken response.
 *
 * RFC 9110, 15.2: "A client MUST be able to parse one or more 1xx responses received prior to a
 * final response, even if the client does not expect one." undici destroys the connection for
 * status 100, and for no other interim status. So the bytes of a connection pass through here
 * before undici reads them, and the status 100 of an interim head becomes 199. undici then parses
 * the head, with its limits, and the fetch knows by `takeContinue` that it was a 100.
 *
 * We refused to drop the bytes here: the number and the length of such heads would need limits of
 * their own. We also refused another HTTP client for this one status.
 *
 * Only the first bytes of a response are looked at, and those of interim heads. At most one byte is
 * held back, if a status line arrives in pieces; a fetch must learn of the first byte at once,
 * because it is not repeated after that. Where it breaks down: a head whose lines end with a bare
 * LF, which is not recognised, so a 100 behind it fails as before.
 */

const BEFORE_STATUS = /^(?:H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.\d|HTTP\/1\.\d |HTTP\/1\.\d 1)$/;
const BEFORE_STATUS_BYTES = 10;
const HEAD_END = Buffer.from('\r\n\r\n');
const ZERO = 0x30;
const NINE = 0x39;

export class ContinueFilter {
  /** Before a status line, inside an interim head, or in a final response. */
  #state: 'line' | 'interim' | 'final' = 'final';
  /** The status line so far, up to the 1 of an interim status. */
  #line = '';
  /** Whether the first 0 of a status is held back, because the next byte decides. */
  #heldZero = false;
  /** How many bytes of the end of a head came so far. */
  #matched = 0;
  #continues = 0;

  /** A request was sent: the next bytes are those of a head. */
  expectHead(): void {
    this.#state = 'line';
    this.#line = '';
    this.#heldZero = false;
    this.#matched = 0;
    this.#continues = 0;
  }

  /** Whether a head with status 199 was a 100. Each counts once. */
  takeContinue(status: number): boolean {
    if (status !== 199 || this.#continues === 0) return false;
    this.#continues--;
    return true;
  }

  /** The bytes for undici, changed in place. Empty if the only byte is held back. */
  pass(chunk: Buffer): Buffer {
    if (this.#state === 'final') return chunk;
    let bytes = chunk;
    if (this.#heldZero) {
      bytes = Buffer.concat([Buffer.of(ZERO), chunk]);
      this.#heldZero = false;
    }
    let at = 0;
    while (at < bytes.length && this.#state !== 'final') {
      if (this.#state === 'interim') at = this.#headEnd(bytes, at);
      else if (this.#line.length < BEFORE_STATUS_BYTES) {
        this.#line += String.fromCharCode(bytes[at++]!);
        if (!BEFORE_STATUS.test(this.#line)) this.#state = 'final';
      } else if (bytes[at] === ZERO && at + 1 === bytes.length) {
        this.#heldZero = true;
        return bytes.subarray(0, at);
      } else {
        this.#state = 'interim';
        if (bytes[at] !== ZERO || bytes[at + 1] !== ZERO) continue;
        bytes[at] = NINE;
        bytes[at + 1] = NINE;
        this.#continues++;
      }
    }
    return bytes;
  }

  /** The place after the head that `at` is in, or the end of the bytes. */
  #headEnd(bytes: Buffer, at: number): number {
    for (let i = at; i < bytes.length; i++) {
      // A CR in the wrong place may be the beginning of the end.
      if (bytes[i] === HEAD_END[this.#matched]) this.#matched++;
      else this.#matched = bytes[i] === HEAD_END[0] ? 1 : 0;
      if (this.#matched < HEAD_END.length) continue;
      this.#matched = 0;
      this.#line = '';
      this.#state = 'line';
      return i + 1;
    }
    return bytes.length;
  }
}
