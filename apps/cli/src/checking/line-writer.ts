/**
 * Writes to standard output in pieces of a quarter of a megabyte, for few system calls and bounded
 * memory. Every line gets its end.
 */

import { write } from '../terminal/standard-output.ts';

export class LineWriter {
  readonly #buffer = new Uint8Array(SIZE);
  #used = 0;
  readonly #end: number;

  /** `end` is the byte that ends a record: a newline or a zero byte. */
  constructor(end: number) {
    this.#end = end;
  }

  /** Writes whole records. If the last one lacks its end, it is added. */
  add(records: Uint8Array): void {
    const ended = records[records.length - 1] === this.#end;
    if (records.length === 0) return;
    if (records.length + 1 > SIZE - this.#used) this.flush();
    if (records.length + 1 > SIZE) write(records);
    else {
      this.#buffer.set(records, this.#used);
      this.#used += records.length;
    }
    if (!ended) this.#buffer[this.#used++] = this.#end;
  }

  flush(): void {
    write(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}

const SIZE = 1 << 18;
