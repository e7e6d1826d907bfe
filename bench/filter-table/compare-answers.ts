/** The answers of the table compared with those of its filters, and its false candidates. */

import { type KeyHashes, useKernel } from 'bloomery';
import { type Fleet, randomHashes } from './fleet.ts';

/** Compares the answers for keys of which each eighth is held by some filters; returns notes. */
export function compareAnswers(
  { filters, table, scheme, shared, own, plan }: Fleet,
  count: number,
): string[] {
  const words = randomHashes(count, scheme, 0x20000).words;
  const heldKeys = [shared, own[0], own[own.length - 1]];
  for (const [i, { words: held, length }] of heldKeys.entries()) {
    const taken = Math.min(length, Math.floor(count / 24));
    words.set(held.subarray(0, 2 * taken), 2 * i * Math.floor(count / 24));
  }
  const keys: KeyHashes = { scheme, words, length: count };
  const width = table.candidateWords;
  const expected = new Uint32Array(width * count);
  for (const [c, filter] of filters.entries()) {
    const answers = filter.hasMany(keys);
    for (let i = 0; i < count; i++) expected[i * width + (c >>> 5)] |= answers[i] << (c & 31);
  }
  const out = new Uint32Array(width);
  let wrong = 0;
  let found = 0;
  const firstAbsent = Math.ceil(count / 8);
  for (const kernel of ['javascript', 'auto'] as const) {
    useKernel(kernel);
    found = 0;
    for (let i = 0; i < count; i++) {
      const hash = { scheme, low: words[2 * i] >>> 0, high: words[2 * i + 1] >>> 0 };
      const ones = table.candidates(hash, out);
      if (i >= firstAbsent) found += ones;
      for (let w = 0; w < width; w++) if (out[w] !== expected[i * width + w]) wrong++;
    }
  }
  const measured = found / (count - firstAbsent);
  return [
    `Answers that differ from those of the filters, for ${count} keys in both kernels: ${wrong}.`,
    `False candidates per absent key: ${measured.toFixed(4)}, planned ${plan.falseCandidates.toFixed(4)}.`,
  ];
}
