/**
 * Dictionaries of Structured Fields (RFC 9651, 3.2 and 4.2.2; RFC 8941 before it), as far as cache
 * directives need them.
 *
 * A dictionary is valid as a whole or not at all: after one wrong character the whole field must be
 * ignored (RFC 9213, 2.1). That strictness is the point of the format, and the reason why we do not
 * use the lenient parser of Cache-Control. Parameters are checked and dropped. Inner lists, byte
 * sequences, dates and display strings are checked for their syntax and returned as `{ other }`,
 * because no directive has such a value.
 *
 * The parser reads the text once, with at most one character of lookahead.
 */

export type DictionaryValue =
  | boolean
  | number
  | { readonly string: string }
  | { readonly token: string }
  | { readonly other: string };

/**
 * The members of the dictionary, or null if the text is not one. Later members replace earlier ones
 * of the same name.
 */
export function parseDictionary(text: string): Map<string, DictionaryValue> | null {
  const reader = new Reader(text);
  const members = new Map<string, DictionaryValue>();
  reader.skip(SP);
  if (reader.ended) return members;
  while (true) {
    const key = reader.key();
    if (key === null) return null;
    let value: DictionaryValue | null = true;
    if (reader.take(EQUALS)) value = reader.itemOrInnerList();
    if (value === null || !reader.parameters()) return null;
    members.set(key, value);
    reader.skip(SP, TAB);
    if (reader.ended) return members;
    if (!reader.take(COMMA)) return null;
    reader.skip(SP, TAB);
    // A trailing comma is an error here, unlike in lists of RFC 9110.
    if (reader.ended) return null;
  }
}

const TAB = 0x09;
const SP = 0x20;
const QUOTE = 0x22;
const PERCENT = 0x25;
const OPEN = 0x28;
const CLOSE = 0x29;
const STAR = 0x2a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const QUESTION = 0x3f;
const AT = 0x40;
const BACKSLASH = 0x5c;

class Reader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get ended(): boolean {
    return this.at >= this.text.length;
  }

  private get char(): number {
    // NaN past the end, which equals no character.
    return this.text.charCodeAt(this.at);
  }

  take(char: number): boolean {
    if (this.char !== char) return false;
    this.at++;
    return true;
  }

  skip(one: number, other = one): void {
    while (this.char === one || this.char === other) this.at++;
  }

  /** A key, in lower case only (4.2.3.3): `Max-Age` is an error. */
  key(): string | null {
    const start = this.at;
    if (!isLower(this.char) && this.char !== STAR) return null;
    while (isKeyChar(this.char)) this.at++;
    return this.text.slice(start, this.at);
  }

  itemOrInnerList(): DictionaryValue | null {
    return this.char === OPEN ? this.innerList() : this.bareItem();
  }

  /** Skips `;name=value` any number of times. Returns false if one is malformed. */
  parameters(): boolean {
    while (this.take(SEMICOLON)) {
      this.skip(SP);
      if (this.key() === null) return false;
      if (this.take(EQUALS) && this.bareItem() === null) return false;
    }
    return true;
  }

  private innerList(): DictionaryValue | null {
    const start = this.at++;
    while (!this.ended) {
      this.skip(SP);
      if (this.take(CLOSE)) return { other: this.text.slice(start, this.at) };
      if (this.bareItem() === null || !this.parameters()) return null;
      if (this.char !== SP && this.char !== CLOSE) return null;
    }
    return null;
  }

  private bareItem(): DictionaryValue | null {
    const char = this.char;
    if (char === MINUS || isDigit(char)) return this.number();
    if (char === QUOTE) return this.string();
    if (char === STAR || isLower(char) || isUpper(char)) return this.token();
    if (char === QUESTION) return this.boolean();
    if (char === COLON) return this.delimited(COLON);
    if (char === AT) {
      const start = this.at++;
      const date = this.number();
      return typeof date === 'number' && Number.isInteger(date)
        ? { other: this.text.slice(start, this.at) }
        : null;
    }
    if (char === PERCENT && this.text.charCodeAt(this.at + 1) === QUOTE) {
      this.at++;
      return this.delimited(QUOTE);
    }
    return null;
  }

  /**
   * Integers of at most 15 digits, decimals of at most 12 and 3 (4.2.4). A decimal is not an
   * integer even if it ends in `.0`.
   */
  private number(): number | { readonly other: string } | null {
    const start = this.at;
    this.take(MINUS);
    const digits = this.at;
    while (isDigit(this.char)) this.at++;
    const whole = this.at - digits;
    if (whole === 0 || whole > 15) return null;
    if (!this.take(DOT)) return Number(this.text.slice(start, this.at));
    const fraction = this.at;
    while (isDigit(this.char)) this.at++;
    if (whole > 12 || this.at === fraction || this.at - fraction > 3) return null;
    return { other: this.text.slice(start, this.at) };
  }

  private string(): DictionaryValue | null {
    this.at++;
    let value = '';
    let from = this.at;
    while (!this.ended) {
      const char = this.char;
      if (char === QUOTE) {
        value += this.text.slice(from, this.at++);
        return { string: value };
      }
      if (char === BACKSLASH) {
        value += this.text.slice(from, this.at++);
        if (this.char !== QUOTE && this.char !== BACKSLASH) return null;
        from = this.at;
      } else if (char < 0x20 || char > 0x7e) {
        return null;
      }
      this.at++;
    }
    return null;
  }

  private token(): DictionaryValue {
    const start = this.at++;
    while (isTokenTail(this.char)) this.at++;
    return { token: this.text.slice(start, this.at) };
  }

  private boolean(): boolean | null {
    this.at++;
    if (this.take(0x31)) return true;
    return this.take(0x30) ? false : null;
  }

  private delimited(end: number): DictionaryValue | null {
    const start = this.at++;
    while (!this.ended) {
      if (this.take(end)) return { other: this.text.slice(start, this.at) };
      if (this.char < 0x20 || this.char > 0x7e) return null;
      this.at++;
    }
    return null;
  }
}

function isLower(char: number): boolean {
  return char >= 0x61 && char <= 0x7a;
}

function isUpper(char: number): boolean {
  return char >= 0x41 && char <= 0x5a;
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39;
}

function isKeyChar(char: number): boolean {
  return isLower(char) || isDigit(char) || char === 0x5f || char === MINUS || char === DOT || char === STAR;
}

/** tchar, `:` and `/` (RFC 9651, 3.3.4). */
function isTokenTail(char: number): boolean {
  return isLower(char) || isUpper(char) || isDigit(char) || (char < 128 && TOKEN_TAIL.has(char));
}

const TOKEN_TAIL = new Set([...":/!#$%&'*+-.^_`|~"].map((char) => char.charCodeAt(0)));
