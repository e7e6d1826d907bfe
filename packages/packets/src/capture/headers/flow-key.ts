/** Flow keys as people read them: addresses as text, ports and the protocol as numbers. */

import { type HeaderBatch, KEY_WORDS } from './header-batch.ts';

export interface Flow {
  readonly version: 4 | 6;
  readonly source: string;
  readonly destination: string;
  /** Number of the protocol above IP: 1 ICMP, 6 TCP, 17 UDP and so on. */
  readonly protocol: number;
  readonly sourcePort: number;
  readonly destinationPort: number;
}

/** The flow of a decoded packet. */
export function flowAt(headers: HeaderBatch, row: number): Flow {
  const { keys } = headers;
  const version = headers.version[row] === 4 ? 4 : 6;
  const at = row * KEY_WORDS;
  const words = version === 4 ? 1 : 4;
  const ports = keys[at + 2 * words];
  return {
    version,
    source: formatAddress(version, keys, at),
    destination: formatAddress(version, keys, at + words),
    protocol: keys[at + 2 * words + 1] & 0xff,
    sourcePort: ports >>> 16,
    destinationPort: ports & 0xffff,
  };
}

/** An address whose 32-bit words begin at `at`, as text: 192.0.2.1, or 2001:db8::1 (RFC 5952). */
export function formatAddress(version: 4 | 6, words: ArrayLike<number>, at: number): string {
  if (version === 4) {
    const word = words[at];
    return `${word >>> 24}.${(word >>> 16) & 255}.${(word >>> 8) & 255}.${word & 255}`;
  }
  const groups: number[] = [];
  for (let i = 0; i < 4; i++) groups.push(words[at + i] >>> 16, words[at + i] & 0xffff);
  const [start, length] = longestZeros(groups);
  const text = (from: number, to: number) =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  return length < 2 ? text(0, 8) : `${text(0, start)}::${text(start + length, 8)}`;
}

/** The first of the longest runs of zeros, as start and length. */
function longestZeros(groups: readonly number[]): [start: number, length: number] {
  let best: [number, number] = [0, 0];
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && groups[end] === 0) end++;
    if (end - start > best[1]) best = [start, end - start];
    start = end;
  }
  return best;
}
