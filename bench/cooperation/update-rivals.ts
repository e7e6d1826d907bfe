/**
 * Bytes of one update of a summary, by this library and by the ways that others use: each rival
 * gets the state before and after, and says how many bytes tell the difference. Programs run on
 * files, and their own figures or the sizes of their output count.
 *
 * Where a rival has no session around it (a file, a list), nothing is added for one, which is in
 * its favour. Summary Cache's messages have one header for all changes here; in UDP packets of 1.4
 * kB they would have one for each 340 changed bits.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BloomFilter, CountingBloomFilter, hashKey } from 'bloomery';
import { SquidDigest } from 'bloomery/formats/squid';
import { Publisher, SetPublisher } from 'bloomery/wire';
import type { Replacement } from './url-population.ts';

/** Rate of 12 bits per key and 3 hashes, which all summaries of the table share if they can. */
export const RATE = 0.0108;
const BITS_PER_KEY = 12;
const HASHES = 3;

export interface UpdateRow {
  readonly name: string;
  /** False positive rate, measured on keys that were not added; 0 for exact ways. */
  readonly rate: number;
  readonly bytes: number;
}

type Rival = (change: Replacement, scratch: string) => UpdateRow[];

/** Keys that no population contains. */
const HELD_OUT = Array.from({ length: 200_000 }, (_, i) => `http://absent.example/${i}`);

function measuredRate(has: (key: string) => boolean): number {
  return HELD_OUT.reduce((sum, key) => sum + (has(key) ? 1 : 0), 0) / HELD_OUT.length;
}

const setSummary: Rival = ({ before, removed, added }) => {
  const universe = Math.round(before.length / RATE);
  const publisher = new SetPublisher({ incarnation: 1, universe });
  for (const url of before) publisher.addHash(hashKey(url));
  publisher.publish();
  for (const url of removed) publisher.deleteHash(hashKey(url));
  for (const url of added) publisher.addHash(hashKey(url));
  const bytes = publisher.publish()!.length;
  return [{ name: 'set of positions, delta', rate: publisher.size / universe, bytes }];
};

const bloomSummary: Rival = ({ before, removed, added }) =>
  (['small', 'fast'] as const).map((effort) => {
    const filter = new CountingBloomFilter({
      counters: before.length * BITS_PER_KEY,
      hashes: HASHES,
      trackChanges: true,
    });
    filter.addMany([...before]);
    const publisher = new Publisher({ incarnation: 1, filter, effort });
    publisher.publish();
    for (const url of removed) filter.delete(url);
    filter.addMany([...added]);
    const rate = measuredRate((key) => filter.has(key));
    return {
      name: `Bloom filter 12 bits, 3 hashes, delta (${effort})`,
      rate,
      bytes: publisher.publish()!.length,
    };
  });

const summaryCache: Rival = ({ before, after }) =>
  [
    { bits: BITS_PER_KEY, hashes: HASHES },
    { bits: 16, hashes: 4 },
  ].map(({ bits, hashes }) => {
    const [old, fresh] = [before, after].map((urls) => bloomOf(urls, bits, hashes)) as [
      BloomFilter,
      BloomFilter,
    ];
    const bytes = 32 + 4 * differingBits(old.encode(), fresh.encode());
    const rate = measuredRate((key) => fresh.has(key));
    return { name: `Summary Cache's update, ${bits} bits, ${hashes} hashes`, rate, bytes };
  });

const squidDigest: Rival = ({ after }) =>
  [5, 10].map((bitsPerEntry) => {
    const digest = SquidDigest.create({ capacity: after.length, bitsPerEntry });
    for (const url of after) digest.add(url);
    const rate = measuredRate((key) => digest.has(key));
    return { name: `Squid's digest sent again, ${bitsPerEntry} bits`, rate, bytes: digest.encode().length };
  });

/** General programs for differences, on the plain bits of the filter and on the list of URLs. */
const programs: Rival = ({ before, after, removed, added }, scratch) => {
  const file = (name: string, data: string | Uint8Array) => {
    const path = join(scratch, name);
    writeFileSync(path, data);
    return path;
  };
  const filters = [before, after].map((urls) => bloomOf(urls, BITS_PER_KEY, HASHES).encode());
  const rate = measuredRate((key) => BloomFilter.decode(filters[1]!).has(key));
  const [oldBits, newBits] = [file('old.blm', filters[0]!), file('new.blm', filters[1]!)];
  const [oldList, newList] = [file('old.txt', lines(before)), file('new.txt', lines(after))];
  const changed = file(
    'changed.txt',
    lines([...removed.map((url) => `-${url}`), ...added.map((url) => `+${url}`)]),
  );
  return [
    { name: 'rsync -z of the filter', rate, bytes: rsync(scratch, oldBits, newBits) },
    { name: 'xdelta3 -9 of the filter', rate, bytes: xdelta(oldBits, newBits) },
    { name: 'zstd -19 --patch-from of the filter', rate, bytes: zstd(newBits, oldBits) },
    { name: 'rsync -z of the sorted URLs', rate: 0, bytes: rsync(scratch, oldList, newList) },
    { name: 'zstd -19 --patch-from of the sorted URLs', rate: 0, bytes: zstd(newList, oldList) },
    { name: 'changed URLs, zstd -19', rate: 0, bytes: zstd(changed) },
    { name: 'all URLs, zstd -19', rate: 0, bytes: zstd(newList) },
    { name: 'all URLs', rate: 0, bytes: statSync(newList).size },
    { name: 'changed keys as MD5', rate: 0, bytes: 16 * (removed.length + added.length) },
    { name: 'changed keys as 64-bit hashes', rate: 0, bytes: 8 * (removed.length + added.length) },
  ];
};

const RIVALS: readonly Rival[] = [setSummary, bloomSummary, summaryCache, squidDigest, programs];

/** One row for each way to tell the difference. */
export function updateRows(change: Replacement, scratch: string): UpdateRow[] {
  return RIVALS.flatMap((rival) => {
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(scratch, { recursive: true });
    return rival(change, scratch);
  });
}

function bloomOf(urls: readonly string[], bitsPerKey: number, hashes: number): BloomFilter {
  const filter = new BloomFilter({ bits: urls.length * bitsPerKey, hashes });
  filter.addMany([...urls]);
  return filter;
}

/** Differing bits of two frames of one shape, without their checksums. */
function differingBits(one: Uint8Array, other: Uint8Array): number {
  let count = 0;
  for (let at = 64; at < one.length - 4; at++) {
    for (let left = one[at]! ^ other[at]!; left !== 0; left &= left - 1) count++;
  }
  return count;
}

function lines(urls: readonly string[]): string {
  return `${urls.join('\n')}\n`;
}

/** Bytes in both directions, by rsync's own count. */
function rsync(scratch: string, from: string, to: string): number {
  const held = join(scratch, 'held');
  writeFileSync(held, readFileSync(from));
  const { stdout } = run('rsync', [
    '-z',
    '--no-whole-file',
    '--inplace',
    '--ignore-times',
    '--stats',
    to,
    held,
  ]);
  const sent = /Total bytes sent: ([\d,.]+)/.exec(stdout)?.[1];
  const received = /Total bytes received: ([\d,.]+)/.exec(stdout)?.[1];
  return Number(sent?.replaceAll(/\D/g, '')) + Number(received?.replaceAll(/\D/g, ''));
}

function xdelta(from: string, to: string): number {
  run('xdelta3', ['-9', '-S', 'djw', '-f', '-e', '-s', from, to, `${to}.xdelta`]);
  return statSync(`${to}.xdelta`).size;
}

function zstd(path: string, from?: string): number {
  const patch = from === undefined ? [] : [`--patch-from=${from}`];
  run('zstd', ['-19', '--ultra', '-q', '-f', ...patch, path, '-o', `${path}.zst`]);
  return statSync(`${path}.zst`).size;
}

function run(program: string, args: readonly string[]): { stdout: string } {
  const result = spawnSync(program, args, { encoding: 'utf8' });
  if (result.status !== 0)
    throw new Error(`Cannot measure: expected ${program} to succeed, got ${result.status}: ${result.stderr}`);
  return result;
}
