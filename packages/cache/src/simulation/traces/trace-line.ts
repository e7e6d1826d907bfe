/**
 * One line of a trace file, before its object and its client have numbers, and the verdicts of a
 * parser about lines that are no request. A parser is a pure function of one line, so a file of any
 * size is read with the memory of one line.
 */

export interface TraceLine {
  /** Milliseconds since any moment, or null if the format has no times. */
  readonly timeMs: number | null;
  /** Name or address of the client, or null if the format has no clients. */
  readonly client: string | null;
  /** Name of the object. Two lines with the same name ask for the same object. */
  readonly object: string;
  /** Length of the body that was sent, or null if the line does not tell it. */
  readonly bytes: number | null;
}

/** The reason why a well-formed line is no request that a cache could answer. */
export type SkipReason = 'method' | 'status';

/** The request of a line, the reason why it is skipped, or null if the line is malformed. */
export type LineVerdict = TraceLine | SkipReason | null;

export type LineParser = (line: string) => LineVerdict;

/** The lines of a log that count as requests. */
export interface LogRules {
  readonly methods: ReadonlySet<string>;
  readonly statuses: ReadonlySet<number>;
}

/**
 * GET alone, because a cache answers no other method from its store except HEAD, which moves no
 * body. 206 and 304 are requests for an object that a cache could have answered. Redirections and
 * errors are left out: their bodies are short and rarely stored.
 */
export const CACHEABLE: LogRules = {
  methods: new Set(['GET']),
  statuses: new Set([200, 206, 304]),
};

/** A logged answer in the words that all logs share. */
export interface LoggedAnswer {
  readonly timeMs: number;
  readonly client: string;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly bytes: number;
}

/**
 * The request of a logged answer. A 304 has no body, so it does not tell the length of its object.
 */
export function requestOf(answer: LoggedAnswer, { methods, statuses }: LogRules): LineVerdict {
  const { timeMs, client, method, url, status, bytes } = answer;
  if (!methods.has(method)) return 'method';
  if (!statuses.has(status)) return 'status';
  if (url === '' || !Number.isFinite(timeMs) || !Number.isSafeInteger(bytes)) return null;
  return { timeMs, client, object: url, bytes: status === NOT_MODIFIED ? null : bytes };
}

const NOT_MODIFIED = 304;
