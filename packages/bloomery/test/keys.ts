/** Keys for tests: packed ones by the million, and strings of every awkward kind. */

import { Random } from '@bloomery/testkit/statistics';
import type { PackedKeys } from '../src/keys/packed-keys.ts';

/** `count` distinct 8-byte keys: a counter from `first` on, and a tag that keeps sets apart. */
export function counterKeys(count: number, first = 0, tag = 0): PackedKeys {
  const words = new Uint32Array(2 * count);
  for (let i = 0; i < count; i++) {
    words[2 * i] = first + i;
    words[2 * i + 1] = tag;
  }
  const offsets = new Uint32Array(count + 1);
  for (let i = 0; i <= count; i++) offsets[i] = 8 * i;
  return { bytes: new Uint8Array(words.buffer), offsets };
}

/**
 * Strings of all lengths from 0 to beyond the stripes of XXH64, ASCII and not, lone surrogates
 * among them.
 */
export function awkwardStrings(count: number, seed: number): string[] {
  const random = new Random(seed);
  const alphabets = [
    'abcdefghijklmnopqrstuvwxyz0123456789/.-',
    'äöüßéñ',
    '日本語中文',
    '😀🎉𝄞',
    '\ud800',
    '\udfff',
    '\n\r\0',
  ];
  return Array.from({ length: count }, (_, i) => {
    const alphabet = i % 3 === 0 ? random.pick(alphabets) : alphabets[0];
    const length = i % 97 === 0 ? 100 + random.below(200) : random.below(70);
    let text = i % 5 === 0 ? `${i}` : '';
    while (text.length < length) text += alphabet[random.below(alphabet.length)];
    return text;
  });
}
