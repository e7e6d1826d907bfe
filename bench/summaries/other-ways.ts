/**
 * The same update sent in other ways: Summary Cache's own messages, Squid's digest, general tools
 * on the filter, and the names themselves. 50,000 URLs, summaries at 1.08 %.
 */

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BloomFilter } from 'bloomery';
import { bloomPair, setPair } from './summary-pair.ts';
import { bytes } from './update-bytes.ts';

const KEYS = 50_000;
const SHARES = [0.01, 0.05];
const BITS_PER_KEY = 12;
const RATE = (1 - Math.exp(-3 / BITS_PER_KEY)) ** 3;

export function otherWaysLines(): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-summaries-'));
  try {
    const columns = SHARES.map((share) => waysOf(share, folder));
    return [
      '## Against other ways',
      '',
      `${KEYS.toLocaleString('en')} URLs, filters with m/n = 12 and k = 3 (1.08 %), bytes of an update. A program that is not installed: –.`,
      '',
      `| way | ${SHARES.map((share) => `c = ${100 * share} %`).join(' | ')} |`,
      `|---|${SHARES.map(() => '---').join('|')}|`,
      ...columns[0].map(([name], i) => `| ${name} | ${columns.map((column) => column[i][1]).join(' | ')} |`),
      '',
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function waysOf(share: number, folder: string): [name: string, size: string][] {
  process.stderr.write(`other ways, ${share}\n`);
  const changed = share * KEYS;
  const set = setPair(KEYS, RATE);
  const bloom = bloomPair(KEYS, BITS_PER_KEY, 3);
  set.replace(changed);
  bloom.replace(changed);
  const [before, after] = [urls(0), urls(changed)];
  const [oldBits, newBits] = [filterOf(before), filterOf(after)];
  const path = (name: string, contents: string | Uint8Array) => {
    writeFileSync(join(folder, name), contents);
    return join(folder, name);
  };
  const oldFilter = path('old.bits', oldBits);
  const newFilter = path('new.bits', newBits);
  const oldList = path('old.txt', before.join('\n'));
  const newList = path('new.txt', after.join('\n'));
  const news = path('changes.txt', [...before.slice(0, changed), ...after.slice(-changed)].join('\n'));
  const out = join(folder, 'out');
  const flips = countOnes(oldBits, newBits);
  return [
    ['a set of positions (`SetPublisher`)', bytes(set.publish().length)],
    ['a Bloom filter (`Publisher`)', bytes(bloom.publish().length)],
    ['Summary Cache: 32 bytes and 4 per flipped bit', bytes(32 + 4 * flips)],
    ['Squid: the digest, 5 bits per key (9.2 %)', bytes((5 * KEYS) / 8 + 128)],
    ['Squid: the digest, 10 bits per key (1.2 %)', bytes((10 * KEYS) / 8 + 128)],
    [
      'zstd -19 --patch-from of the filter',
      size(out, 'zstd', ['-19', '-qf', `--patch-from=${oldFilter}`, newFilter, '-o', out]),
    ],
    ['xdelta3 -9 of the filter', size(out, 'xdelta3', ['-9', '-f', '-e', '-s', oldFilter, newFilter, out])],
    ['rsync -z of the filter', rsync(oldFilter, newFilter, out)],
    ['8 bytes of hash per changed key', bytes(16 * changed)],
    ['changed URLs, zstd -19', size(out, 'zstd', ['-19', '-qf', news, '-o', out])],
    [
      'zstd -19 --patch-from of the list of URLs',
      size(out, 'zstd', ['-19', '-qf', '--long=27', `--patch-from=${oldList}`, newList, '-o', out]),
    ],
    ['the list of URLs, zstd -19', size(out, 'zstd', ['-19', '-qf', newList, '-o', out])],
  ];
}

/** URLs like those of a mirror, in the order in which they came. */
function urls(first: number): string[] {
  return Array.from({ length: KEYS }, (_, i) => {
    const key = Math.imul(first + i + 1, 0x9e3779b1) >>> 0;
    const name = `${WORDS[key % 16]}-${WORDS[(key >>> 4) % 16]}${key.toString(36)}`;
    return `http://mirror.example.org/debian/pool/main/${name[0]}/${name}/${name}_${key % 9}.${(key >>> 8) % 30}-${1 + ((key >>> 13) % 4)}_amd64.deb`;
  });
}

const WORDS = [
  'lib',
  'node',
  'python',
  'golang',
  'ruby',
  'perl',
  'font',
  'kde',
  'gnome',
  'linux',
  'rust',
  'haskell',
  'php',
  'java',
  'texlive',
  'boost',
];

function filterOf(keys: readonly string[]): Uint8Array {
  const filter = new BloomFilter({ bits: BITS_PER_KEY * KEYS, hashes: 3 });
  filter.addMany(keys);
  return filter.encode().slice(28, -4);
}

function countOnes(a: Uint8Array, b: Uint8Array): number {
  let ones = 0;
  for (let i = 0; i < a.length; i++) for (let byte = a[i] ^ b[i]; byte !== 0; byte &= byte - 1) ones++;
  return ones;
}

/** The size of a program's output. */
function size(out: string, program: string, parameters: readonly string[]): string {
  rmSync(out, { force: true });
  return spawnSync(program, parameters).status === 0 ? bytes(statSync(out).size) : '–';
}

/** Bytes in both directions. */
function rsync(before: string, after: string, out: string): string {
  copyFileSync(before, out);
  const run = spawnSync('rsync', ['-z', '--no-whole-file', '--ignore-times', '--stats', after, out], {
    encoding: 'utf8',
  });
  if (run.status !== 0 || !readFileSync(out).equals(readFileSync(after))) return '–';
  const total = [...run.stdout.matchAll(/^Total bytes (?:sent|received): ([\d,.]+)$/gm)].map(([, digits]) =>
    Number(digits.replace(/[,.]/g, '')),
  );
  return bytes(total.reduce((sum, count) => sum + count, 0));
}
