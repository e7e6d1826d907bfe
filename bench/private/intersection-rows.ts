/**
 * The cost of an intersection with each library: processor time of each side, bytes in each
 * direction, the time of single operations, the size of the code and the time to load it.
 */

import { loadavg } from 'node:os';
import { cpuUsage } from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { IntersectionSession, type PrimeOrderGroup } from '../../packages/overlay/dist/private/index.js';
import { ristretto255 } from '../../packages/overlay/dist/private/sodium.js';
import { nobleGroup } from '../../packages/overlay/test/intersection/noble-group.ts';

const SIZES = [100, 1000];

interface SessionRow {
  readonly library: string;
  readonly size: number;
  readonly reveals: 'keys' | 'count';
  /** Median of the rounds, in milliseconds. */
  readonly initiatorMs: number;
  readonly responderMs: number;
  readonly bytesToResponder: number;
  readonly bytesToInitiator: number;
}

interface LibraryRow {
  readonly library: string;
  readonly multiplyMs: number;
  readonly elementMs: number;
  /** Code with the adapter, bundled and minified: bytes, and bytes after gzip. */
  readonly bytes: number;
  readonly gzipBytes: number;
}

export interface IntersectionResults {
  readonly rounds: number;
  readonly load: string;
  readonly node: string;
  readonly libraries: readonly LibraryRow[];
  readonly sessions: readonly SessionRow[];
}

export async function intersectionRows(rounds: number): Promise<IntersectionResults> {
  const load = loadavg();
  const groups: [string, PrimeOrderGroup, string][] = [
    ['libsodium-wrappers-sumo 0.8.4', await ristretto255(), '../../packages/overlay/dist/private/sodium.js'],
    ['@noble/curves 2.4.0', nobleGroup, '../../packages/overlay/test/intersection/noble-group.ts'],
  ];
  const libraries: LibraryRow[] = [];
  const sessions: SessionRow[] = [];
  for (const [library, group, entry] of groups) {
    libraries.push({ library, ...operations(group, rounds), ...(await codeSize(entry)) });
    for (const size of SIZES) {
      for (const reveals of ['keys', 'count'] as const) {
        sessions.push({ library, size, reveals, ...session(group, size, reveals, rounds) });
      }
    }
  }
  return {
    rounds,
    load: load.map((value) => value.toFixed(1)).join(' '),
    node: process.version,
    libraries,
    sessions,
  };
}

function operations(group: PrimeOrderGroup, rounds: number) {
  const bytes = (seed: number) => group.sha512(Uint8Array.of(seed & 255, seed >> 8));
  const scalar = group.scalarFrom(bytes(1));
  const point = group.elementFrom(bytes(2));
  const each = (work: (i: number) => void) =>
    median(Array.from({ length: rounds }, () => milliseconds(() => repeat(200, work)) / 200));
  return {
    multiplyMs: each(() => group.multiply(point, scalar)),
    elementMs: each((i) => group.elementFrom(bytes(i))),
  };
}

function session(group: PrimeOrderGroup, size: number, reveals: 'keys' | 'count', rounds: number) {
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const names = (from: number) => Array.from({ length: size }, (_, i) => `person${from + i}@example.org`);
  const times: [number[], number[]] = [[], []];
  let bytesToResponder = 0;
  let bytesToInitiator = 0;
  for (let round = 0; round < rounds; round++) {
    const spent = [0, 0];
    const timed = <T>(side: 0 | 1, work: () => T): T => {
      const start = cpuUsage();
      const result = work();
      const { user, system } = cpuUsage(start);
      spent[side] += (user + system) / 1000;
      return result;
    };
    const a = timed(
      0,
      () => new IntersectionSession(names(0), { role: 'initiator', group, random, reveals }),
    );
    const b = timed(
      1,
      () => new IntersectionSession(names(size / 2), { role: 'responder', group, random, reveals }),
    );
    [bytesToResponder, bytesToInitiator] = [0, 0];
    while (!(a.done && b.done)) {
      for (let bytes = timed(0, () => a.pull()); bytes !== null; bytes = timed(0, () => a.pull())) {
        bytesToResponder += bytes.length;
        const received = bytes;
        timed(1, () => b.receive(received));
      }
      for (let bytes = timed(1, () => b.pull()); bytes !== null; bytes = timed(1, () => b.pull())) {
        bytesToInitiator += bytes.length;
        const received = bytes;
        timed(0, () => a.receive(received));
      }
    }
    if (a.result.commonCount !== size / 2)
      throw new Error(`Cannot measure: expected ${size / 2} common keys`);
    times[0].push(spent[0]);
    times[1].push(spent[1]);
  }
  return {
    initiatorMs: median(times[0]),
    responderMs: median(times[1]),
    bytesToResponder,
    bytesToInitiator,
  };
}

async function codeSize(entry: string) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    external: ['node:*'],
  });
  const bytes = outputFiles[0].contents;
  return { bytes: bytes.length, gzipBytes: gzipSync(bytes, { level: 9 }).length };
}

function milliseconds(work: () => void): number {
  const start = cpuUsage();
  work();
  const { user, system } = cpuUsage(start);
  return (user + system) / 1000;
}

function repeat(count: number, work: (i: number) => void): void {
  for (let i = 0; i < count; i++) work(i);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
