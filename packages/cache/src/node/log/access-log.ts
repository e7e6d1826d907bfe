/**
 * The access log: one line per answer. It is off by default because of its cost: 2.3 µs to build a
 * line (3 µs as JSON; 100,000 lines, 2 slow cores), a twentieth of what a hit in memory takes, plus
 * the writing. Lines are collected and written when there are 64 KiB of them or once a second,
 * whichever comes first. The last second can therefore be missing after a crash; a clean stop
 * writes everything.
 *
 * The file is opened for appending, so several processes can share it: a write of whole lines
 * arrives whole on a local file system. `reopen` is for logrotate, which has moved the file away
 * and wants the next line in a new one. When the disk or the reader of a pipe cannot keep up, lines
 * are dropped, because memory is bounded. Lines that cannot be written (a full disk, a pipe without
 * a reader) are dropped as well. Both are counted, and the first failure of a series is reported.
 * Client addresses are written in full, and query values are never written (log-privacy.ts).
 *
 * A pipe is opened in non-blocking mode: a write to a full one would block one of the four threads
 * in which Node does all its file work, and with it the end of the process. Standard output is used
 * as it is. Node makes a pipe there non-blocking as soon as `process.stdout` is used, so the same
 * holds for it.
 */

import { closeSync, constants, openSync, write } from 'node:fs';
import type { AnswerRecord } from '../../proxy/proxy-observer.ts';
import { publicUrl } from './log-privacy.ts';

const BUFFER_CHARACTERS = 64 * 1024;
const MOST_WAITING = 8 * 1024 * 1024;
const FLUSH_MS = 1000;
/** How soon a full pipe is tried again. */
const RETRY_MS = 50;
/** How long `close` waits for a reader that accepts nothing. */
const PATIENCE_MS = 2000;

export interface AccessLogOptions {
  /** The file; - is standard output. */
  readonly path: string;
  readonly format: 'json' | 'text';
  /** Called once per series of failures. */
  readonly failed: (error: Error) => void;
  /** Called with the number of lost lines. */
  readonly dropped: (lines: number) => void;
}

export class AccessLog {
  readonly #options: AccessLogOptions;
  #descriptor: number;
  #lines = '';
  /**
   * The buffer that is being written. Descriptors that were replaced meanwhile are closed after it.
   */
  #writing: Buffer | null = null;
  /** Bytes of it that are written. */
  #at = 0;
  readonly #replaced: number[] = [];
  /** The file ends in the middle of a line. */
  #torn = false;
  #timer: NodeJS.Timeout | null = null;
  #retry: NodeJS.Timeout | null = null;
  #failing = false;
  /** Resolves the wait in `close`. */
  #written: () => void = () => {};

  /** Throws if the file cannot be opened. */
  constructor(options: AccessLogOptions) {
    this.#options = options;
    this.#descriptor = openAccessLog(options.path);
  }

  add(record: AnswerRecord): void {
    if (this.#lines.length > MOST_WAITING) {
      this.#options.dropped(1);
      this.#fail(
        new Error(
          'Cannot write all lines: the access log is written more slowly than they come, so some are dropped',
        ),
      );
      return;
    }
    this.#lines += this.#options.format === 'json' ? jsonLine(record) : textLine(record);
    this.#flushInTime();
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null || this.#lines === '') return;
    this.#writing = Buffer.from(this.#torn ? `\n${this.#lines}` : this.#lines);
    this.#lines = '';
    this.#at = 0;
    this.#writeTo(this.#descriptor);
  }

  /**
   * Opens the file under its name again. Collected lines go to the old file, unless a write to it
   * is running: then they go to the new one.
   */
  reopen(): void {
    if (this.#options.path === '-') return;
    const fresh = openAccessLog(this.#options.path);
    this.flush();
    if (this.#writing === null) close(this.#descriptor);
    else this.#replaced.push(this.#descriptor);
    this.#descriptor = fresh;
    this.#torn = false;
  }

  /** Writes all remaining lines, as long as the reader accepts them. */
  async close(patienceMs: number = PATIENCE_MS): Promise<void> {
    const end = performance.now() + patienceMs;
    this.flush();
    while (this.#writing !== null && performance.now() < end) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#written = resolve;
        timer = setTimeout(resolve, end - performance.now());
      });
      clearTimeout(timer);
      this.flush();
    }
    for (const timer of [this.#timer, this.#retry]) if (timer !== null) clearTimeout(timer);
    if (this.#writing !== null) this.#options.dropped(linesIn(this.#writing, this.#at));
    if (this.#lines !== '') this.#options.dropped(linesIn(Buffer.from(this.#lines), 0));
    this.#writing = null;
    this.#lines = '';
    for (const descriptor of [...this.#replaced.splice(0), this.#descriptor]) close(descriptor);
  }

  #flushInTime(): void {
    if (this.#lines.length >= BUFFER_CHARACTERS) this.flush();
    else if (this.#timer === null && this.#lines !== '') {
      this.#timer = setTimeout(() => this.flush(), FLUSH_MS);
      this.#timer.unref();
    }
  }

  #writeTo(descriptor: number): void {
    const bytes = this.#writing as Buffer;
    write(descriptor, bytes, this.#at, bytes.length - this.#at, null, (error, written) => {
      // `close` gave up this write in the meantime.
      if (this.#writing !== bytes) return;
      if (error?.code === 'EAGAIN') {
        this.#retry = setTimeout(() => this.#writeTo(descriptor), RETRY_MS);
        this.#retry.unref();
        return;
      }
      if (error === null) {
        this.#at += written;
        if (this.#at < bytes.length) {
          this.#writeTo(descriptor);
          return;
        }
        this.#failing = false;
      } else {
        this.#options.dropped(linesIn(bytes, this.#at));
        this.#fail(error);
      }
      if (this.#at > 0 && descriptor === this.#descriptor) this.#torn = bytes[this.#at - 1] !== LINE_END;
      this.#writing = null;
      for (const replaced of this.#replaced.splice(0)) close(replaced);
      // Handles lines that came meanwhile: a flush during this write has stopped the timer.
      this.#flushInTime();
      this.#written();
    });
  }

  #fail(error: Error): void {
    if (!this.#failing) this.#options.failed(error);
    this.#failing = true;
  }
}

/** Opens the file for appending. Throws an error that names the file. */
export function openAccessLog(path: string): number {
  if (path === '-') return STANDARD_OUTPUT;
  try {
    // 0640: not all users of the machine may see which client fetched what.
    return openSync(path, APPENDING | constants.O_CREAT, 0o640);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENXIO' ? 'it is a pipe without a reader (ENXIO)' : (code ?? (error as Error).message);
    throw new Error(`Cannot open the access log ${path}: ${why}`, { cause: error });
  }
}

function close(descriptor: number): void {
  if (descriptor === STANDARD_OUTPUT) return;
  try {
    closeSync(descriptor);
  } catch {
    // The disk failed at the last moment, and no caller is left to report it to.
  }
}

/** Counts the lines. A leading line end only completes a torn line, and is not counted. */
function linesIn(bytes: Buffer, from: number): number {
  let lines = from === 0 && bytes[0] === LINE_END ? -1 : 0;
  for (let at = bytes.indexOf(LINE_END, from); at >= 0; at = bytes.indexOf(LINE_END, at + 1)) lines++;
  return lines;
}

/**
 * The fields are named one by one, because a literal with a spread can get slow for the rest of the
 * process, like the one in kept-tick.ts. JSON leaves out those that are undefined.
 */
type NotLogged = 'neighbour' | 'cacheStatus' | 'fields';

function jsonLine(record: AnswerRecord): string {
  const line: Record<Exclude<keyof AnswerRecord, NotLogged>, unknown> = {
    at: new Date(record.at).toISOString(),
    client: record.client,
    method: record.method,
    url: publicUrl(record.url),
    status: record.status,
    outcome: record.outcome,
    reason: record.reason,
    bytesOut: record.bytesOut,
    bytesFromOrigin: record.bytesFromOrigin,
    durationMs: record.durationMs,
    aborted: record.aborted,
    bytesFromNeighbours: record.bytesFromNeighbours,
    neighbours: record.neighbours,
    notStored: record.notStored,
  };
  return `${JSON.stringify(line)}\n`;
}

/**
 * Time, client, method, URL, status, outcome, reason, bytes to the client, bytes from the origin,
 * milliseconds, `aborted` or `-`, the reason why the response was not stored or `-`, bytes from
 * neighbours, and why neighbours were asked or not, or `-`.
 */
function textLine(record: AnswerRecord): string {
  const { at, client, method, status, outcome, bytesOut, bytesFromOrigin, durationMs, aborted } = record;
  const reason = word(record.reason);
  return `${new Date(at).toISOString()} ${word(client)} ${word(method)} ${word(publicUrl(record.url))} ${status} ${outcome} ${reason} ${bytesOut} ${bytesFromOrigin} ${durationMs.toFixed(1)} ${aborted ? 'aborted' : '-'} ${record.notStored ?? '-'} ${record.bytesFromNeighbours ?? 0} ${word(record.neighbours ?? '')}\n`;
}

/**
 * Formats one column, so that input from a client can start neither another column nor another
 * line.
 */
function word(text: string): string {
  if (text === '') return '-';
  // Nearly all texts are plain, and testing is cheaper than replacing by Unicode classes.
  return PLAIN.test(text) ? text : text.replaceAll(/[\s\p{C}]/gu, '_');
}

const PLAIN = /^[\x21-\x7e]+$/;
const LINE_END = 10;
const STANDARD_OUTPUT = 1;
/** Windows has no O_NONBLOCK. */
const APPENDING = constants.O_WRONLY | constants.O_APPEND | (constants.O_NONBLOCK ?? 0);
