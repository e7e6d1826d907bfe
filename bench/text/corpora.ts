/**
 * Corpora for the text index: four kinds of logs from a seed, and texts of Debian. Each line of a
 * log has what real ones have: addresses, identifiers, times, templates with numbers in them.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A small generator with a seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let z = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return (z ^ (z >>> 14)) >>> 0;
  }

  below(end: number): number {
    return Math.floor((this.bits() / 2 ** 32) * end);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)];
  }

  hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += this.bits().toString(16).padStart(8, '0');
    return text.slice(0, digits);
  }

  address(): string {
    return `${1 + this.below(223)}.${this.below(256)}.${this.below(256)}.${this.below(256)}`;
  }
}

export interface Corpus {
  readonly name: string;
  readonly text: Buffer;
}

type Line = (dice: Dice, at: number) => string;

const PATHS = 'index.html api/v1/users api/v1/orders static/app.js static/site.css login cart search'.split(
  ' ',
);
const AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0',
  'curl/7.88.1',
  'Googlebot/2.1',
  'okhttp/4.12.0',
];
const LEVELS = ['INFO', 'INFO', 'INFO', 'WARN', 'ERROR', 'DEBUG'];
const SERVICES = ['checkout', 'payments', 'inventory', 'gateway', 'accounts', 'mailer'];
const MESSAGES = [
  'request finished',
  'cache miss',
  'retrying call',
  'row updated',
  'session opened',
  'quota exceeded',
];
const CLASSES = ['OrderService', 'HttpClient', 'PoolManager', 'UserRepository', 'JsonMapper', 'RetryPolicy'];
const ERRORS = ['IllegalStateException', 'SocketTimeoutException', 'NullPointerException', 'SQLException'];

const LINES: Readonly<Record<string, Line>> = {
  'access log': (dice, at) =>
    `${dice.address()} - - [${time(at, ':')} +0000] "GET /${dice.pick(PATHS)}?id=${dice.below(1e6)} HTTP/1.1" ${dice.pick([200, 200, 200, 304, 404, 500])} ${dice.below(90_000)} "-" "${dice.pick(AGENTS)}"\n`,
  'JSON with trace ids': (dice, at) =>
    `{"time":"${time(at, 'T')}.${dice.below(1000)}Z","level":"${dice.pick(LEVELS)}","service":"${dice.pick(SERVICES)}","trace_id":"${dice.hex(32)}","span_id":"${dice.hex(16)}","client":"${dice.address()}","user":"u${dice.below(1e7)}","ms":${dice.below(5000)},"message":"${dice.pick(MESSAGES)}"}\n`,
  syslog: (dice, at) =>
    `Nov 17 ${clock(at)} host${dice.below(20)} ${dice.pick(['sshd', 'kernel', 'cron', 'postfix/smtpd'])}[${dice.below(32_768)}]: ${dice.pick(['Accepted publickey for deploy from', 'Connection closed by', 'Invalid user admin from', 'connect from unknown'])} ${dice.address()} port ${1024 + dice.below(64_000)}\n`,
  'Java traces': (dice, at) => {
    const head = `${time(at, ' ')},${dice.below(1000)} ${dice.pick(LEVELS)} [pool-${dice.below(8)}-thread-${dice.below(64)}] com.example.${dice.pick(CLASSES)} - order ${dice.hex(8)} failed\n`;
    const frames = Array.from(
      { length: 3 + dice.below(9) },
      () =>
        `\tat com.example.${dice.pick(SERVICES)}.${dice.pick(CLASSES)}.${dice.pick(['call', 'run', 'handle', 'apply', 'close'])}(${dice.pick(CLASSES)}.java:${dice.below(900)})\n`,
    );
    return `${head}java.lang.${dice.pick(ERRORS)}: ${dice.pick(MESSAGES)} (${dice.below(1e5)})\n${frames.join('')}`;
  },
};

function clock(at: number): string {
  const two = (n: number) => String(n).padStart(2, '0');
  return `${two(Math.floor(at / 36_000) % 24)}:${two(Math.floor(at / 600) % 60)}:${two(Math.floor(at / 10) % 60)}`;
}

function time(at: number, between: string): string {
  return `2026-11-${String(1 + (Math.floor(at / 864_000) % 28)).padStart(2, '0')}${between}${clock(at)}`;
}

const DEBIAN = 'Debian changelogs';

/** Names of all corpora. Debian's comes first: a machine may have less of it than is wanted. */
export const CORPORA: readonly string[] = [DEBIAN, ...Object.keys(LINES)];

/** The corpus of a name, with about as many bytes, or as many as there are. */
export function corpusOf(name: string, bytes: number): Corpus {
  if (name === DEBIAN) return debianCorpus(bytes);
  const line = LINES[name];
  const dice = new Dice(100 + Object.keys(LINES).indexOf(name));
  const text = Buffer.allocUnsafe(bytes + LONGEST_LINE);
  let size = 0;
  for (let at = 0; size < bytes; at++) size += text.write(line(dice, at), size, 'latin1');
  return { name, text: text.subarray(0, size) };
}

/** All corpora, one after the other: each may be hundreds of megabytes. */
export function* allCorpora(bytes: number): Generator<Corpus> {
  for (const name of CORPORA) yield corpusOf(name, bytes);
}

/** More than a line of any log has; a Java trace is some lines. */
const LONGEST_LINE = 4096;

/** Changelogs and copyright files of the installed packages. */
function debianCorpus(bytes: number): Corpus {
  const parts: Buffer[] = [];
  let size = 0;
  const root = '/usr/share/doc';
  for (const name of readdirSync(root).sort()) {
    for (const file of ['changelog.Debian.gz', 'changelog.gz', 'copyright']) {
      if (size >= bytes) break;
      try {
        const read = readFileSync(join(root, name, file));
        parts.push(file.endsWith('.gz') ? gunzipSync(read) : read, Buffer.from('\n'));
        size += parts.at(-2)!.length;
      } catch {
        // Most packages lack some of them.
      }
    }
  }
  return { name: DEBIAN, text: Buffer.concat(parts).subarray(0, bytes) };
}
