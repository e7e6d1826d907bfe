/**
 * Finds the words that a misspelling may come from: a weighted edit distance between the
 * misspelling and every word of a trie, in one walk that leaves a subtree as soon as no word in it
 * can be near.
 *
 * An edit is a letter that was left out, added or replaced, or two neighbours that were swapped. A
 * common mistake costs little: a wrong number of equal letters, a vowel for another, a missing
 * letter. A wrong first letter costs more, because writers rarely get it wrong. The budget allows
 * two edits of any kind, and up to five of the cheapest.
 *
 * The costs were chosen on 500 misspellings of codespell's dictionary, a sample that
 * `bench/spelling` leaves out when it reports.
 *
 * Letters are compared without case. The work is one row of the distance table for each node that
 * is visited, which took 4 ms of processor time per misspelling on average in en_US.
 */

import { factsOf, type ListedWord, MOST_LETTERS, type WordTrie } from './word-trie.ts';

/** A word of the list with the cost of the mistakes that lead from it to the misspelling. */
export interface NearbyWord extends ListedWord {
  readonly cost: number;
}

/**
 * Returns all words within the budget, in the order of the trie. `written` is in small letters, and
 * `fold` makes a letter of the trie small.
 */
export function nearbyWords(trie: WordTrie, written: string, fold: (letter: string) => string): NearbyWord[] {
  const { letters, depths, ends, marks } = trie;
  const n = written.length;
  const budget = n < BUDGETS.length ? BUDGETS[n] : BUDGET;
  const codes = Uint16Array.from(trie.alphabet, (letter) => fold(letter).charCodeAt(0));
  const typed = Uint16Array.from({ length: n }, (_, i) => written.charCodeAt(i));
  const drops = Uint8Array.from(typed, (code, i) => costOfOne(code, i === 0 ? 0 : typed[i - 1], ADDED, i));
  const vowels = Uint8Array.from(typed, (code) => (isVowel(code) ? 1 : 0));
  const rows = Array.from({ length: MOST_LETTERS + 1 }, () => new Int32Array(n + 1));
  const least = new Int32Array(MOST_LETTERS + 1);
  const path = new Uint16Array(MOST_LETTERS + 1);
  const found: NearbyWord[] = [];
  for (let j = 1; j <= n; j++) rows[0][j] = rows[0][j - 1] + drops[j - 1];
  for (let node = 0; node < letters.length; ) {
    const depth = depths[node];
    const letter = codes[letters[node]];
    path[depth] = letter;
    const row = rows[depth];
    const above = rows[depth - 1];
    const lost = costOfOne(letter, depth === 1 ? 0 : path[depth - 1], MISSING, depth - 1);
    const vowel = isVowel(letter);
    row[0] = above[0] + lost;
    let smallest = row[0];
    for (let j = 1; j <= n; j++) {
      let cost = above[j - 1];
      if (typed[j - 1] !== letter) {
        cost += vowel && vowels[j - 1] === 1 ? VOWEL : REPLACED;
        if (j === 1 || depth === 1) cost += FIRST;
        if (j > 1 && depth > 1 && typed[j - 1] === path[depth - 1] && typed[j - 2] === letter)
          cost = Math.min(cost, rows[depth - 2][j - 2] + SWAPPED);
      }
      const drop = row[j - 1] + drops[j - 1];
      const add = above[j] + lost;
      if (drop < cost) cost = drop;
      if (add < cost) cost = add;
      row[j] = cost;
      if (cost < smallest) smallest = cost;
    }
    least[depth] = smallest;
    // A swap reaches back over one letter, so the row above counts as well.
    if (smallest > budget && least[depth - 1] + SWAPPED > budget) {
      node = ends[node];
      continue;
    }
    if (marks[node] !== 0 && row[n] <= budget)
      found.push({ word: trie.wordAt(node), cost: row[n], ...factsOf(marks[node]) });
    node++;
  }
  return found;
}

/** Cost of a letter too many or too few, after the letter before it. */
function costOfOne(letter: number, before: number, usual: number, at: number): number {
  if (letter === APOSTROPHE || letter === HYPHEN) return MARK;
  return (letter === before ? DOUBLED : usual) + (at === 0 ? FIRST : 0);
}

function isVowel(letter: number): boolean {
  // a, e, i, o, u and y
  return letter >= 0x61 && letter <= 0x79 && ((0x1104111 >>> (letter - 0x61)) & 1) === 1;
}

const ADDED = 9;
const MISSING = 7;
const REPLACED = 10;
const VOWEL = 6;
const SWAPPED = 7;
const DOUBLED = 5;
/** An apostrophe or a hyphen: dont, co-operate. */
const MARK = 4;
/** Added to any of these at the first letter, except a swap. */
const FIRST = 7;
const BUDGET = 28;
/** Budgets of shorter words by their length: half of a word's letters cannot be wrong. */
const BUDGETS = [0, 0, 12, 17, 21];
const APOSTROPHE = 0x27;
const HYPHEN = 0x2d;
