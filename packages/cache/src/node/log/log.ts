/**
 * The log of a node: one event per line on standard error, as JSON for machines or as text for
 * people. An event has a time, a level, a name that never changes (`listening`, `origin-failed`),
 * by which it can be searched for, and fields.
 *
 * Lines are written synchronously to the descriptor: lines logged before a crash are there after
 * it, and an idle node logs a few lines a day. The lines per answer are in the access log
 * (access-log.ts), which is buffered. A flood of events (an origin that fails for each of 10,000
 * requests a second) must not become a flood of writes. At most `EVENTS_A_SECOND` events of one
 * name below the level `error` are therefore written per second; then one line says how many were
 * left out. For secrets see log-privacy.ts.
 */

import { writeSync } from 'node:fs';
import { publicFields } from './log-privacy.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  /** Added to each line: `{ worker: 2 }`. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly clock?: () => number;
  readonly write?: (line: string) => void;
}

const EVENTS_A_SECOND = 50;
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export class Log {
  #options: LogOptions;
  #least: number;
  readonly #rates = new Map<string, { second: number; count: number }>();

  constructor(options: LogOptions) {
    this.#options = options;
    this.#least = LEVELS.indexOf(options.level);
  }

  /** Uses another level or format from now on. */
  change(options: Pick<LogOptions, 'level' | 'format'>): void {
    this.#options = { ...this.#options, ...options };
    this.#least = LEVELS.indexOf(options.level);
  }

  event(level: LogLevel, name: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (LEVELS.indexOf(level) < this.#least) return;
    const now = (this.#options.clock ?? Date.now)();
    if (level !== 'error' && !this.#mayWrite(name, now)) return;
    this.#write(now, level, name, fields);
  }

  #mayWrite(name: string, now: number): boolean {
    const second = Math.floor(now / 1000);
    let rate = this.#rates.get(name);
    if (rate === undefined) {
      // Names come from this package and are few; the limit guards against putting data into one by
      // mistake.
      if (this.#rates.size >= 1000) this.#rates.clear();
      rate = { second, count: 0 };
      this.#rates.set(name, rate);
    }
    if (rate.second !== second) {
      const leftOut = rate.count - EVENTS_A_SECOND;
      rate.second = second;
      rate.count = 0;
      if (leftOut > 0) this.#write(now, 'warn', 'events-left-out', { of: name, count: leftOut });
    }
    return ++rate.count <= EVENTS_A_SECOND;
  }

  #write(now: number, level: LogLevel, name: string, fields: Readonly<Record<string, unknown>>): void {
    const { format, fields: always = {}, write = writeToStandardError } = this.#options;
    const all = publicFields({ ...always, ...fields });
    const time = new Date(now).toISOString();
    const own = { time, level, event: name };
    // Placed first for the order, and last so that a field of the same name cannot overwrite them.
    if (format === 'json') write(`${JSON.stringify(Object.assign({ ...own }, all, own))}\n`);
    else write(`${time} ${level.padEnd(5)} ${name}${asText(all)}\n`);
  }
}

/**
 * Formats ` name=value …`. A value with spaces or control characters is quoted as in JSON, so that
 * one event is one line.
 */
function asText(fields: Readonly<Record<string, unknown>>): string {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const plain = typeof value === 'string' ? value : JSON.stringify(value);
    text += ` ${name}=${/^[^\s"\p{C}]+$/u.test(plain) ? plain : JSON.stringify(plain).replaceAll(/\p{C}/gu, '?')}`;
  }
  return text;
}

/** A log that cannot be written (a full disk, a closed terminal) must not stop the node. */
function writeToStandardError(line: string): void {
  try {
    writeSync(2, line);
  } catch {}
}
