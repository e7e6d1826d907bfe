/**
 * Parses the regular expressions of grep, basic (`-G`) and extended (`-E`), over bytes as in the C
 * locale: one byte is one character. The result is a tree that becomes a RegExp and a list of
 * required literals (line-pattern.ts).
 *
 * Forms that implementations read differently, or that a RegExp cannot express, are refused with an
 * error and never guessed: back-references, a quantifier without an operand, `{` that starts no
 * interval, collating symbols, escapes without a meaning.
 */

export type PatternNode =
  | { readonly kind: 'set'; readonly has: Uint8Array }
  | { readonly kind: 'assertion'; readonly name: Assertion }
  | { readonly kind: 'sequence'; readonly of: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly of: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly of: PatternNode; readonly least: number; readonly most: number };

export type Assertion = 'lineStart' | 'lineEnd' | 'wordEdge' | 'noWordEdge' | 'wordStart' | 'wordEnd';

export type PatternSyntax = 'fixed' | 'basic' | 'extended';

/** A pattern that is not understood. `offset` is the byte of the pattern. */
export class PatternSyntaxError extends Error {
  override readonly name = 'PatternSyntaxError';
  readonly code = 'pattern';
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Parses one pattern without newlines. */
export function parsePattern(
  pattern: Uint8Array,
  { syntax, ignoreCase }: { readonly syntax: PatternSyntax; readonly ignoreCase: boolean },
): PatternNode {
  if (syntax === 'fixed')
    return { kind: 'sequence', of: Array.from(pattern, (byte) => setOf([byte], ignoreCase)) };
  const parser = new PatternParser(pattern, syntax === 'extended', ignoreCase);
  return parser.parse();
}

class PatternParser {
  readonly #bytes: Uint8Array;
  readonly #extended: boolean;
  readonly #ignoreCase: boolean;
  #at = 0;
  #depth = 0;

  constructor(bytes: Uint8Array, extended: boolean, ignoreCase: boolean) {
    this.#bytes = bytes;
    this.#extended = extended;
    this.#ignoreCase = ignoreCase;
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#at < this.#bytes.length) throw this.#refuse('a parenthesis that was opened');
    return node;
  }

  #choice(): PatternNode {
    if (++this.#depth > 100) throw this.#refuse('at most 100 nested parentheses');
    const of = [this.#sequence()];
    while (this.#takes('|')) of.push(this.#sequence());
    this.#depth--;
    return of.length === 1 ? of[0] : { kind: 'choice', of };
  }

  #sequence(): PatternNode {
    const of: PatternNode[] = [];
    while (this.#at < this.#bytes.length && !this.#sees('|') && !this.#sees(')')) {
      const isFirst = of.every(({ kind }) => kind === 'assertion');
      const node = this.#atom(of.length === 0, isFirst);
      of.push(node.kind === 'assertion' ? this.#unrepeated(node) : this.#repeated(node));
    }
    return { kind: 'sequence', of };
  }

  #atom(isFirst: boolean, afterAssertions: boolean): PatternNode {
    const byte = this.#bytes[this.#at];
    const c = String.fromCharCode(byte);
    if (this.#takes('(')) {
      const inner = this.#choice();
      if (!this.#takes(')')) throw this.#refuse('a closing parenthesis');
      // A group is a node of its own, so that a quantifier repeats all of it.
      return { kind: 'sequence', of: [inner] };
    }
    if (c === '\\') return this.#escape();
    if (c === '[') return this.#bracket();
    if (c === '^' && (this.#extended || isFirst)) return this.#assertion('lineStart');
    if (c === '$' && (this.#extended || this.#endsSequence(1))) return this.#assertion('lineEnd');
    if (this.#quantifierAhead() && !(c === '*' && !this.#extended && afterAssertions))
      throw this.#refuse('something to repeat before a quantifier');
    if (this.#extended && c === '{') throw this.#refuse('a backslash before {');
    this.#at++;
    return c === '.' ? complement(setOf([10], false)) : setOf([byte], this.#ignoreCase);
  }

  /** In basic expressions `$` is special only at the end. */
  #endsSequence(ahead: number): boolean {
    const rest = String.fromCharCode(...this.#bytes.subarray(this.#at + ahead, this.#at + ahead + 2));
    return rest === '' || rest === '\\)' || rest === '\\|';
  }

  #escape(): PatternNode {
    const byte = this.#bytes[this.#at + 1];
    if (byte === undefined) throw this.#refuse('a character after the backslash');
    const c = String.fromCharCode(byte);
    const assertion = ASSERTIONS[c];
    this.#at++;
    if (assertion !== undefined) return this.#assertion(assertion);
    const named = ESCAPED_SETS[c];
    if (named !== undefined) {
      this.#at++;
      return c === c.toUpperCase() ? complement(setOfNames(named)) : setOfNames(named);
    }
    if (/[0-9A-Za-z{}+?`']/.test(c) && !(this.#extended && /[{}+?]/.test(c)))
      throw this.#refuse('an escape that this command knows');
    this.#at++;
    return setOf([byte], this.#ignoreCase);
  }

  #assertion(name: Assertion): PatternNode {
    this.#at++;
    return { kind: 'assertion', name };
  }

  #unrepeated(node: PatternNode): PatternNode {
    const isStar = this.#bytes[this.#at] === 42;
    if (this.#quantifierAhead() && !(isStar && !this.#extended && isLineStart(node)))
      throw this.#refuse('no quantifier after ^, $ or the edge of a word');
    return node;
  }

  #quantifierAhead(): boolean {
    return this.#bytes[this.#at] === 42 || this.#sees('+') || this.#sees('?') || this.#sees('{');
  }

  #repeated(node: PatternNode): PatternNode {
    let result = node;
    for (;;) {
      if (this.#bytes[this.#at] === 42) {
        this.#at++;
        result = { kind: 'repeat', of: result, least: 0, most: Number.POSITIVE_INFINITY };
      } else if (this.#takes('+'))
        result = { kind: 'repeat', of: result, least: 1, most: Number.POSITIVE_INFINITY };
      else if (this.#takes('?')) result = { kind: 'repeat', of: result, least: 0, most: 1 };
      else if (this.#takes('{')) result = this.#interval(result);
      else return result;
    }
  }

  #interval(of: PatternNode): PatternNode {
    const rest = String.fromCharCode(...this.#bytes.subarray(this.#at, this.#at + 20));
    const match = /^(\d{1,5})(,?)(\d{0,5})(\\?)\}/.exec(rest);
    if (match === null || (match[4] === '') !== this.#extended || (match[2] === '' && match[3] !== ''))
      throw this.#refuse('an interval such as {2,5}');
    const least = Number(match[1]);
    const most = match[2] === '' ? least : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3]);
    if (least > most || least > MOST_TIMES || (most > MOST_TIMES && most !== Number.POSITIVE_INFINITY))
      throw this.#refuse(`an interval that rises, up to ${MOST_TIMES}`);
    this.#at += match[0].length;
    return { kind: 'repeat', of, least, most };
  }

  /** Whether an operator comes: bare in extended expressions, after a backslash in basic ones. */
  #sees(operator: string): boolean {
    const code = operator.charCodeAt(0);
    return this.#extended
      ? this.#bytes[this.#at] === code
      : this.#bytes[this.#at] === 92 && this.#bytes[this.#at + 1] === code;
  }

  #takes(operator: string): boolean {
    if (!this.#sees(operator)) return false;
    this.#at += this.#extended ? 1 : 2;
    return true;
  }

  #bracket(): PatternNode {
    const start = this.#at++;
    const negated = this.#bytes[this.#at] === 94;
    if (negated) this.#at++;
    const members: number[] = [];
    for (let first = true; first || this.#bytes[this.#at] !== 93; first = false) {
      if (this.#at >= this.#bytes.length) {
        this.#at = start;
        throw this.#refuse('a closing ] for this [');
      }
      members.push(...this.#bracketItem());
    }
    this.#at++;
    const set = setOf(members, this.#ignoreCase);
    return negated ? complement(set) : set;
  }

  #bracketItem(): number[] {
    const bytes = this.#bytes;
    if (bytes[this.#at] === 91 && [46, 58, 61].includes(bytes[this.#at + 1])) {
      const rest = String.fromCharCode(...bytes.subarray(this.#at, this.#at + 14));
      const name = /^\[:([a-z]+):\]/.exec(rest)?.[1];
      if (name === undefined || !Object.hasOwn(CLASSES, name))
        throw this.#refuse('a class such as [:digit:]');
      this.#at += name.length + 4;
      return membersOf(CLASSES[name]);
    }
    const low = bytes[this.#at++];
    if (bytes[this.#at] !== 45 || bytes[this.#at + 1] === 93 || this.#at + 1 >= bytes.length) return [low];
    const high = bytes[this.#at + 1];
    if (high === 91 && [46, 58, 61].includes(bytes[this.#at + 2]))
      throw this.#refuse('a character at the end of a range');
    if (high < low) throw this.#refuse('a range that rises');
    this.#at += 2;
    return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  }

  #refuse(expected: string): PatternSyntaxError {
    const rest = String.fromCharCode(...this.#bytes.subarray(this.#at, this.#at + 12));
    const got = rest === '' ? 'the end of the pattern' : JSON.stringify(rest);
    return new PatternSyntaxError(this.#at, `Cannot read the pattern: expected ${expected}, got ${got}`);
  }
}

function isLineStart(node: PatternNode): boolean {
  return node.kind === 'assertion' && node.name === 'lineStart';
}

/** The largest number of an interval: GNU's limit. */
const MOST_TIMES = 32767;

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  b: 'wordEdge',
  B: 'noWordEdge',
  '<': 'wordStart',
  '>': 'wordEnd',
};

/** Sets as pairs of bytes: from, to. */
const CLASSES: Readonly<Record<string, string>> = {
  alpha: 'AZaz',
  digit: '09',
  alnum: '09AZaz',
  upper: 'AZ',
  lower: 'az',
  space: '\t\r  ',
  blank: '\t\t  ',
  punct: '!/:@[`{~',
  print: ' ~',
  graph: '!~',
  cntrl: '\x00\x1f\x7f\x7f',
  xdigit: '09AFaf',
};
const ESCAPED_SETS: Readonly<Record<string, string>> = {
  w: '09AZaz__',
  W: '09AZaz__',
  s: CLASSES.space,
  S: CLASSES.space,
};

function membersOf(pairs: string): number[] {
  const members: number[] = [];
  for (let i = 0; i < pairs.length; i += 2) {
    for (let byte = pairs.charCodeAt(i); byte <= pairs.charCodeAt(i + 1); byte++) members.push(byte);
  }
  return members;
}

function setOfNames(pairs: string): PatternNode & { kind: 'set' } {
  return setOf(membersOf(pairs), false);
}

/** A set of bytes. A newline is never in it, because it ends the line. */
function setOf(members: readonly number[], ignoreCase: boolean): PatternNode & { kind: 'set' } {
  const has = new Uint8Array(256);
  for (const byte of members) {
    has[byte] = 1;
    const letter = byte | 32;
    if (ignoreCase && letter >= 97 && letter <= 122) {
      has[letter] = 1;
      has[letter - 32] = 1;
    }
  }
  has[10] = 0;
  return { kind: 'set', has };
}

function complement({ has }: PatternNode & { kind: 'set' }): PatternNode & { kind: 'set' } {
  const others = has.map((value) => 1 - value);
  others[10] = 0;
  return { kind: 'set', has: others };
}
