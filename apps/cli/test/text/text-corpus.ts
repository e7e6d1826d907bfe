/** A small folder of logs for the tests of `index` and `grep`, from a seed. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Random } from '@bloomery/testkit/statistics';

const WORDS =
  'connection refused timeout Session user admin GET POST /index.html kernel: eth0 Exception'.split(' ');

/** Lines such as logs have; some end in a carriage return, a few hold odd bytes. */
function logText(random: Random, lines: number): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i < lines; i++) {
    const words = Array.from({ length: 2 + random.below(6) }, () => word(random)).join(' ');
    const odd = random.below(40) === 0 ? Buffer.from(random.bytes(6).map((b) => (b === 10 ? 11 : b))) : '';
    parts.push(Buffer.from(words), Buffer.from(odd), Buffer.from(random.below(9) === 0 ? '\r\n' : '\n'));
  }
  return Buffer.concat(parts);
}

function word(random: Random): string {
  const kind = random.below(7);
  if (kind === 0) return Array.from({ length: 4 }, () => random.below(256)).join('.');
  if (kind === 1) return (random.bits() >>> 0).toString(16).padStart(8, '0');
  if (kind === 2) return `id=${random.below(100_000)}`;
  return random.pick(WORDS);
}

/** A gzip file of several members, whose ends need not be ends of lines. */
function gzipMembers(text: Uint8Array, bytes: number): Buffer {
  const members: Buffer[] = [];
  for (let at = 0; at < text.length; at += bytes) members.push(gzipSync(text.subarray(at, at + bytes)));
  return Buffer.concat(members);
}

/** BGZF: members with an extra field `BC` that holds their size, and an empty one at the end. */
function bgzf(text: Uint8Array): Buffer {
  const members: Buffer[] = [];
  for (let at = 0; ; at += 20_000) {
    const plain = gzipSync(text.subarray(at, at + 20_000));
    const extra = Buffer.from([6, 0, 0x42, 0x43, 2, 0, 0, 0]);
    const member = Buffer.concat([plain.subarray(0, 10), extra, plain.subarray(10)]);
    member[3] |= 4;
    member.writeUInt16LE(member.length - 1, 16);
    members.push(member);
    if (at >= text.length) return Buffer.concat(members);
  }
}

/** Packs texts with the program zstd, as one frame each. */
function zstd(texts: readonly Uint8Array[], ...args: string[]): Buffer {
  return Buffer.concat(
    texts.map((input) => {
      const { stdout, status } = spawnSync('zstd', ['-q', '-c', ...args], { input, maxBuffer: 1 << 28 });
      if (status !== 0) throw new Error('Cannot make the corpus: the program zstd failed');
      return stdout;
    }),
  );
}

function cut(text: Uint8Array, bytes: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < text.length; at += bytes) pieces.push(text.subarray(at, at + bytes));
  return pieces;
}

/** A seek table as the seekable format has it; its numbers are not read. */
const SEEK_TABLE = Buffer.from('5e2a4d1811000000aabbccdd1122334401000000 00b1ea928f'.replace(' ', ''), 'hex');

/** Writes the folder; returns the unpacked text of each file. */
export function writeCorpus(folder: string, seed: number, lines = 1500): Map<string, Buffer> {
  const random = new Random(seed);
  const texts = new Map<string, Buffer>();
  const put = (name: string, text: Buffer, packed: Buffer = text) => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), packed);
    texts.set(name, text);
  };
  const text = logText(random, lines);
  put('app.log', text);
  const second = logText(random, lines);
  put('app.log.1.gz', second, gzipSync(second));
  const third = logText(random, lines);
  put('app.log.2.gz', third, gzipMembers(third, 7001));
  const fourth = logText(random, lines);
  put('old/app.log.3.gz', fourth, bgzf(fourth));
  put('old/unended', Buffer.concat([logText(random, 20), Buffer.from('connection 10.0.0.7 lost')]));
  put('old/empty', Buffer.alloc(0));
  for (let i = 0; i < 5; i++) put(`small/${i}.txt`, logText(random, 10));
  const long = Buffer.from(`${'abcdefghij'.repeat(300)} needle-in-a-long-line\n`);
  put('small/long', Buffer.concat([logText(random, 5), long, logText(random, 5)]));
  const fifth = logText(random, lines);
  put('zstd/one.zst', fifth, zstd([fifth]));
  const sixth = logText(random, lines);
  put('zstd/seekable.zst', sixth, Buffer.concat([zstd(cut(sixth, 9001)), SEEK_TABLE]));
  const seventh = logText(random, lines / 4);
  put('zstd/skipped-first', seventh, Buffer.concat([SEEK_TABLE, zstd([seventh], '--no-check')]));
  return texts;
}
