/**
 * Finds lines that match a pattern, in one pass over the bytes, however the pattern is built: the
 * states of a deterministic automaton are made when they are first reached. We used JavaScript's
 * RegExp first, which backtracks: a pattern such as `\w*[a-f]*\S*x` took minutes on a line of some
 * kilobytes.
 *
 * A state is a set of places in the pattern, before the assertions at them are decided, and the
 * class of the byte before. The next byte decides the assertions: `\b` needs both of its sides.
 */

import { type PatternNode, PatternSyntaxError } from './posix-pattern.ts';

/** Sides of a place: the edge of the line, a byte that is no part of a word, one that is. */
const EDGE = 0;
const OTHER = 1;
const WORD = 2;

type Place =
  | { readonly kind: 'set'; readonly has: Uint8Array; next: number }
  | { readonly kind: 'split'; next: number; other: number }
  | { readonly kind: 'test'; readonly holds: (before: number, after: number) => boolean; next: number }
  | { readonly kind: 'end' };

type Test = (before: number, after: number) => boolean;

const TESTS: Readonly<Record<string, Test>> = {
  lineStart: (before) => before === EDGE,
  lineEnd: (_, after) => after === EDGE,
  wordEdge: (before, after) => (before === WORD) !== (after === WORD),
  noWordEdge: (before, after) => (before === WORD) === (after === WORD),
  wordStart: (before, after) => before !== WORD && after === WORD,
  wordEnd: (before, after) => before === WORD && after !== WORD,
  noWordBefore: (before) => before !== WORD,
  noWordAfter: (_, after) => after !== WORD,
};

const MOST_PLACES = 50_000;
const MOST_STATES = 2000;
const LINE_END = 256;
/** Entries of the table of a state that are no states. */
const UNKNOWN = -1;
const FOUND = -2;
const NONE = -3;

interface State {
  readonly places: readonly number[];
  readonly before: number;
  /** The next state for each byte, and for the end of the line. */
  readonly next: Int32Array;
}

export interface LineAutomatonOptions {
  readonly words: boolean;
  readonly wholeLines: boolean;
}

export class LineAutomaton {
  readonly #places: Place[] = [{ kind: 'end' }];
  readonly #start: number;
  #states: State[] = [];
  #numbers = new Map<string, number>();

  /** Throws a `PatternSyntaxError` if the pattern is too large. */
  constructor(patterns: readonly PatternNode[], { words, wholeLines }: LineAutomatonOptions) {
    const [before, after] = wholeLines
      ? ['lineStart', 'lineEnd']
      : words
        ? ['noWordBefore', 'noWordAfter']
        : [null, null];
    const end = after === null ? 0 : this.#place({ kind: 'test', holds: TESTS[after], next: 0 });
    const inner = this.#choice(patterns, end);
    this.#start = before === null ? inner : this.#place({ kind: 'test', holds: TESTS[before], next: inner });
    this.#state([this.#start], EDGE);
  }

  /** The first line from a place on that matches, without its newline; null if none does. */
  findLine(bytes: Uint8Array, from: number): { start: number; end: number } | null {
    let start = from;
    let state = 0;
    for (let i = from; i < bytes.length; i++) {
      const byte = bytes[i];
      const symbol = byte === 10 ? LINE_END : byte;
      let next = this.#states[state].next[symbol];
      if (next === UNKNOWN) next = this.#step(state, symbol);
      if (next >= 0) state = next;
      else if (next === FOUND) {
        const end = bytes.indexOf(10, i);
        return { start, end: end < 0 ? bytes.length : end };
      } else {
        start = i + 1;
        state = 0;
      }
    }
    if (start >= bytes.length) return null;
    return this.#step(state, LINE_END) === FOUND ? { start, end: bytes.length } : null;
  }

  #step(number: number, symbol: number): number {
    const { places, before, next } = this.#states[number];
    const after = symbol === LINE_END ? EDGE : isWordByte(symbol) ? WORD : OTHER;
    const reached = this.#reached(places, before, after);
    let result: number;
    if (reached.has(0)) result = FOUND;
    else if (symbol === LINE_END) result = NONE;
    else {
      const following = new Set([this.#start]);
      for (const at of reached) {
        const place = this.#places[at];
        if (place.kind === 'set' && place.has[symbol] === 1) following.add(place.next);
      }
      result = this.#state([...following], after);
    }
    next[symbol] = result;
    return result;
  }

  /** All places that are reached without a byte, where the bytes around are of these classes. */
  #reached(places: readonly number[], before: number, after: number): Set<number> {
    const reached = new Set(places);
    // A set visits members that are added while it is iterated.
    for (const at of reached) {
      const place = this.#places[at];
      if (place.kind === 'split') {
        reached.add(place.next);
        reached.add(place.other);
      } else if (place.kind === 'test' && place.holds(before, after)) reached.add(place.next);
    }
    return reached;
  }

  #state(places: number[], before: number): number {
    places.sort((a, b) => a - b);
    const name = `${before}:${places.join()}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#states.length >= MOST_STATES) {
      this.#states = [];
      this.#numbers = new Map();
      this.#state([this.#start], EDGE);
    }
    const number = this.#states.length;
    this.#states.push({ places, before, next: new Int32Array(257).fill(UNKNOWN) });
    this.#numbers.set(name, number);
    return number;
  }

  #place(place: Place): number {
    if (this.#places.length >= MOST_PLACES)
      throw new PatternSyntaxError(
        0,
        `Cannot read the pattern: expected at most ${MOST_PLACES} places with all repetitions, got more`,
      );
    this.#places.push(place);
    return this.#places.length - 1;
  }

  /** The place where a part of the pattern begins that goes on at `next`. */
  #part(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'set':
        return this.#place({ kind: 'set', has: node.has, next });
      case 'assertion':
        return this.#place({ kind: 'test', holds: TESTS[node.name], next });
      case 'sequence':
        return node.of.reduceRight((after, part) => this.#part(part, after), next);
      case 'choice':
        return this.#choice(node.of, next);
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #choice(of: readonly PatternNode[], next: number): number {
    return of
      .map((part) => this.#part(part, next))
      .reduceRight((other, first) => this.#place({ kind: 'split', next: first, other }));
  }

  #repeat({ of, least, most }: PatternNode & { kind: 'repeat' }, next: number): number {
    let after = next;
    if (most === Number.POSITIVE_INFINITY) {
      const loop: Place = { kind: 'split', next: 0, other: next };
      after = this.#place(loop);
      loop.next = this.#part(of, after);
    } else {
      for (let i = least; i < most; i++)
        after = this.#place({ kind: 'split', next: this.#part(of, after), other: next });
    }
    for (let i = 0; i < least; i++) after = this.#part(of, after);
    return after;
  }
}

function isWordByte(byte: number): boolean {
  return (byte >= 48 && byte < 58) || (byte >= 65 && byte < 91) || byte === 95 || (byte >= 97 && byte < 123);
}
