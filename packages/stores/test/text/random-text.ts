/** Text for the tests of the index: words, numbers, addresses, identifiers and odd bytes. */

import type { Random } from '@bloomery/testkit/statistics';

const WORDS = 'error warning GET POST Kernel connection refused user session_id timeout Exception x'.split(
  ' ',
);

export function randomText(random: Random, bytes: number): Uint8Array<ArrayBuffer> {
  const parts: number[] = [];
  while (parts.length < bytes) {
    for (const c of piece(random)) parts.push(c);
    const end = random.below(8);
    if (end === 0) parts.push(10);
    else if (end === 1) parts.push(13, 10);
    else parts.push(32);
  }
  return Uint8Array.from(parts.slice(0, bytes));
}

function piece(random: Random): Uint8Array {
  const kind = random.below(6);
  if (kind === 0) return random.bytes(random.below(12));
  if (kind === 1) return text(Array.from({ length: 4 }, () => random.below(256)).join('.'));
  if (kind === 2) return text(`${random.below(1e9)}`);
  if (kind === 3) return text(random.bits().toString(16).padStart(8, '0'));
  return text(random.pick(WORDS));
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}
