/**
 * The time from saving a file in one process to its being found in all others, over a NATS server
 * or over HTTP on loopback, and what a search of real processes takes.
 */

import { loadavg } from 'node:os';
import { ShareFleet } from '../../packages/overlay/test/search/share-process.ts';

const PEERS = 10;
const ROUNDS = 20;
const FILES = 30;

const WORDS = 'amber basil coral dune ember flint garnet harbour indigo jasper'.split(' ');

function files(peer: number): Record<string, string> {
  const text = (i: number) =>
    Array.from({ length: 40 }, (_, at) => WORDS[(peer * 7 + i * 3 + at * at) % WORDS.length]).join(' ');
  return Object.fromEntries(Array.from({ length: FILES }, (_, i) => [`f${i}.txt`, text(i)]));
}

export interface SavedFileTimes {
  readonly over: string;
  /** Milliseconds until the last of the other processes found the file, rising. */
  readonly foundMs: readonly number[];
  /** Milliseconds of a search with results, rising. */
  readonly searchMs: readonly number[];
  readonly load: number;
}

export async function savedFileTimes(over: 'nats' | 'http'): Promise<SavedFileTimes> {
  await using fleet = await ShareFleet.start(
    over,
    Array.from({ length: PEERS }, (_, i) => files(i)),
  );
  const { peers } = fleet;
  const foundMs: number[] = [];
  const searchMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const owner = peers[round % PEERS];
    const word = `novelword${'abcdefghijklmnopqrst'[round]}`;
    const start = performance.now();
    owner.save(`new-${round}.txt`, `a text with ${word} in it`);
    await Promise.all(
      peers.map(async (peer) => {
        while ((await peer.find(word)).results.length === 0)
          await new Promise((resolve) => setTimeout(resolve, 20));
      }),
    );
    foundMs.push(performance.now() - start);
    const before = performance.now();
    await peers[(round + 3) % PEERS].find('amber +coral');
    searchMs.push(performance.now() - before);
  }
  const rising = (all: number[]) => all.sort((a, b) => a - b);
  return { over, foundMs: rising(foundMs), searchMs: rising(searchMs), load: loadavg()[0] };
}
