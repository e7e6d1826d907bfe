/**
 * Dense numbers for names, in the order of first sight. The names are the only part of a trace that
 * is held in memory as a whole: about 100 bytes each for URLs.
 *
 * A `Map` of JavaScript holds at most 2^24 entries. We refuse the next name with an error that says
 * so; several maps would need more memory than most machines have by then.
 *
 * A name is copied before it is kept. V8 makes a part of a text a view of the whole one, so 1,000
 * names from 1,000 parts of 512 kB would otherwise hold all 512 MB in memory.
 */

import { TraceError } from './trace-error.ts';

export class NameNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #what: string;
  readonly #most: number;

  /** `what` says what is named, for the error. */
  constructor(what: string, most = MOST_NAMES) {
    this.#what = what;
    this.#most = most;
  }

  get count(): number {
    return this.#numbers.size;
  }

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const next = this.#numbers.size;
    if (next >= this.#most) {
      throw new TraceError(
        'limit',
        `Cannot read a trace: expected at most ${this.#most} distinct ${this.#what}, got more`,
      );
    }
    this.#numbers.set(copyOf(name), next);
    return next;
  }
}

const MOST_NAMES = 2 ** 24;

function copyOf(text: string): string {
  const encoding = isLatin1(text) ? 'latin1' : 'utf16le';
  return Buffer.from(text, encoding).toString(encoding);
}

function isLatin1(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 255) return false;
  return true;
}
