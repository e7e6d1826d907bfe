/**
 * The words of a language in memory, in the order of a walk through their trie: one node per
 * letter, each node before its children. A node knows its letter, its depth, and the first node
 * after its subtree, so that a search is one loop over arrays that skips what cannot match. No
 * pointers and no recursion are needed.
 *
 * The 131,000 words of en_US have 329,000 nodes, 2.6 MB. We refused a minimal automaton (a DAWG):
 * it has 127,000 edges, but needs 277 kB in a file by the entropy of its edges, where the list of
 * words needs 205 kB (word-list-code.ts), and it cannot hold how common a word is.
 *
 * Letters are UTF-16 code units, numbered by their place in the alphabet.
 */

import { SpellingError } from '../spelling-error.ts';

/** A word with facts for suggestions. */
export interface ListedWord {
  readonly word: string;
  /** How common the word is, from 0 (not among the counted words) to 15; see word-frequency.ts. */
  readonly frequency: number;
  /** Whether the word followed by `'s` is a word of the dictionary. */
  readonly possessive: boolean;
}

export class WordTrie {
  /** The letters that occur, in the order of their codes. */
  readonly alphabet: string;
  /** Number of words. */
  readonly size: number;
  /** For each node its letter, as a place in the alphabet. */
  readonly letters: Uint16Array;
  /** For each node the number of letters up to and including its own. */
  readonly depths: Uint8Array;
  /** For each node the first node that is not below it. */
  readonly ends: Uint32Array;
  /** For each node 0 if no word ends here, otherwise 1 + 2 · frequency + possessive. */
  readonly marks: Uint8Array;

  constructor(parts: Pick<WordTrie, 'alphabet' | 'size' | 'letters' | 'depths' | 'ends' | 'marks'>) {
    this.alphabet = parts.alphabet;
    this.size = parts.size;
    this.letters = parts.letters;
    this.depths = parts.depths;
    this.ends = parts.ends;
    this.marks = parts.marks;
  }

  /** Builds the trie of words in any order. A word that comes twice keeps the larger frequency. */
  static from(words: Iterable<ListedWord>): WordTrie {
    const sorted = [...words].sort((a, b) => (a.word < b.word ? -1 : a.word > b.word ? 1 : 0));
    const codes = new Set<string>();
    for (const { word } of sorted) for (let i = 0; i < word.length; i++) codes.add(word[i]);
    const alphabet = [...codes].sort().join('');
    const place = new Map([...codes].map((letter) => [letter, alphabet.indexOf(letter)]));
    const builder = new TrieBuilder(alphabet);
    let before = '';
    for (const { word, frequency, possessive } of sorted) {
      if (word === '' || word.length > MOST_LETTERS) continue;
      let shared = 0;
      while (shared < word.length && word[shared] === before[shared]) shared++;
      for (let i = shared; i < word.length; i++) builder.letter(i, place.get(word[i])!);
      builder.end(frequency, possessive);
      before = word;
    }
    return builder.build();
  }

  /** Finds a word: its frequency and whether it has a possessive, or undefined if it is no word. */
  find(word: string): ListedWord | undefined {
    let [node, end, found] = [0, this.letters.length, -1];
    for (let i = 0; i < word.length; i++) {
      found = -1;
      for (; node < end; node = this.ends[node]) {
        if (this.alphabet[this.letters[node]] !== word[i]) continue;
        found = node;
        break;
      }
      if (found < 0) return undefined;
      [node, end] = [found + 1, this.ends[found]];
    }
    const mark = found < 0 ? 0 : this.marks[found];
    return mark === 0 ? undefined : { word, ...factsOf(mark) };
  }

  /** The letters from the root to a node. */
  wordAt(node: number): string {
    let word = '';
    for (let at = node, depth = this.depths[node]; depth > 0; at--) {
      if (this.depths[at] !== depth) continue;
      word = this.alphabet[this.letters[at]] + word;
      depth--;
    }
    return word;
  }

  /** Yields all words in the order of their letters. */
  *words(): Generator<ListedWord> {
    let word = '';
    for (let node = 0; node < this.letters.length; node++) {
      word = word.slice(0, this.depths[node] - 1) + this.alphabet[this.letters[node]];
      if (this.marks[node] !== 0) yield { word, ...factsOf(this.marks[node]) };
    }
  }
}

/** The facts in a mark that is not 0. */
export function factsOf(mark: number): { frequency: number; possessive: boolean } {
  return { frequency: (mark - 1) >> 1, possessive: ((mark - 1) & 1) === 1 };
}

/** Takes sorted words, each without the letters that it shares with the word before it. */
export class TrieBuilder {
  readonly #alphabet: string;
  #letters = new Uint16Array(1024);
  #depths = new Uint8Array(1024);
  #ends = new Uint32Array(1024);
  #marks = new Uint8Array(1024);
  #count = 0;
  #size = 0;
  /** The nodes of the current word. */
  readonly #path: number[] = [];

  constructor(alphabet: string) {
    this.#alphabet = alphabet;
  }

  /** Adds a letter behind the first `depth` letters of the current word. */
  letter(depth: number, letter: number): void {
    if (this.#count === this.#letters.length) this.#grow();
    while (this.#path.length > depth) this.#ends[this.#path.pop()!] = this.#count;
    const node = this.#count++;
    this.#letters[node] = letter;
    this.#depths[node] = depth + 1;
    this.#path.push(node);
  }

  /** Ends a word at the last letter. */
  end(frequency: number, possessive: boolean): void {
    const node = this.#count - 1;
    if (this.#marks[node] === 0) this.#size++;
    this.#marks[node] = Math.max(this.#marks[node], 1 + 2 * frequency + (possessive ? 1 : 0));
  }

  build(): WordTrie {
    while (this.#path.length > 0) this.#ends[this.#path.pop()!] = this.#count;
    return new WordTrie({
      alphabet: this.#alphabet,
      size: this.#size,
      letters: this.#letters.slice(0, this.#count),
      depths: this.#depths.slice(0, this.#count),
      ends: this.#ends.slice(0, this.#count),
      marks: this.#marks.slice(0, this.#count),
    });
  }

  #grow(): void {
    if (2 * this.#count > MOST_NODES)
      throw new SpellingError('limit', `Cannot list words: expected at most ${MOST_NODES} letters, got more`);
    const grown = <T extends Uint8Array | Uint16Array | Uint32Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    const room = 2 * this.#count;
    this.#letters = grown(this.#letters, new Uint16Array(room));
    this.#depths = grown(this.#depths, new Uint8Array(room));
    this.#ends = grown(this.#ends, new Uint32Array(room));
    this.#marks = grown(this.#marks, new Uint8Array(room));
  }
}

/** The longest word, in UTF-16 code units. Longer ones are not suggested. */
export const MOST_LETTERS = 64;
/** The most nodes: 134 MB of arrays. An untrusted file cannot make more. */
const MOST_NODES = 2 ** 24;
