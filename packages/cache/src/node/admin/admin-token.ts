/**
 * The token of the admin endpoints: set by the operator, or drawn at the start (128 random bits).
 * Requests that change something need it in `Authorization: Bearer` (docs/spec/console.md, "The
 * token").
 *
 * The digests of both tokens are compared, in constant time: the time says nothing about the token,
 * and nothing about its length. After 10 wrong tokens within a minute, requests with a token are
 * refused until the minute is over, right ones as well. So an attacker who may ask at all has
 * 14,400 guesses a day; a token of 16 random letters takes 10^17 years. A program that guesses can
 * keep the operator's requests away for as long as it goes on. We accept that: it runs on a machine
 * of `--admin-client`.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Lengths of a token that an operator may set. */
const TOKEN = /^[\x21-\x7e]{16,256}$/;
export const TOKEN_SHAPE = '16 to 256 visible ASCII characters';

const MOST_WRONG = 10;
const WINDOW_MS = 60_000;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

export function drawToken(): string {
  return randomBytes(16).toString('base64url');
}

export type TokenVerdict =
  | { readonly kind: 'right' | 'wrong' | 'missing' }
  | { readonly kind: 'locked'; readonly retryAfterSeconds: number };

export class AdminToken {
  readonly #clock: () => number;
  /** Called at each wrong token, for the other processes of the node. */
  readonly #wrong: () => void;
  #digest: Buffer = digestOf('');
  /** Whether the operator set the token. */
  isSet = false;
  #windowAt = Number.NEGATIVE_INFINITY;
  #wrongOnes = 0;

  constructor(clock: () => number, wrong: () => void = () => {}) {
    this.#clock = clock;
    this.#wrong = wrong;
  }

  use(token: string, isSet: boolean): void {
    this.#digest = digestOf(token);
    this.isSet = isSet;
  }

  /** Judges the field `Authorization` of a request. */
  judge(authorization: string | undefined): TokenVerdict {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return { kind: 'missing' };
    const now = this.#clock();
    const passedMs = now - this.#windowAt;
    if (passedMs >= 0 && passedMs < WINDOW_MS && this.#wrongOnes >= MOST_WRONG)
      return { kind: 'locked', retryAfterSeconds: Math.ceil((WINDOW_MS - passedMs) / 1000) };
    if (timingSafeEqual(digestOf(token), this.#digest)) return { kind: 'right' };
    this.noteWrong();
    this.#wrong();
    return { kind: 'wrong' };
  }

  /** Counts a wrong token, here or in another process of the node. */
  noteWrong(): void {
    const now = this.#clock();
    const passedMs = now - this.#windowAt;
    if (passedMs < 0 || passedMs >= WINDOW_MS) {
      this.#windowAt = now;
      this.#wrongOnes = 0;
    }
    this.#wrongOnes++;
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
