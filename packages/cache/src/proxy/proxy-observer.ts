/**
 * What the proxy tells of its doing: one record for each request it answered (or refused, or tunnelled), and events that an operator
 * may want to read. An access log, metrics and a status page are made of these two calls; the proxy itself keeps no log.
 *
 * Both are called from the hot path and must be cheap and must not throw: what is slow belongs behind a buffer of the observer's.
 */

export interface ProxyObserver {
  /** Once for each request, when its answer is handed over or has failed. */
  answered(record: AnswerRecord): void;
  event(level: EventLevel, name: string, fields: Record<string, unknown>): void;
}

export type EventLevel = 'debug' | 'info' | 'warn' | 'error';

export type AnswerOutcome =
  /** From the store, fresh. */
  | 'hit'
  /** From the store, stale, as the response or an unreachable origin allows. */
  | 'stale'
  /** From the store, after the origin said that it still holds. */
  | 'validated'
  /** From the origin. */
  | 'miss'
  /** From another request's fetch. */
  | 'collapsed'
  /** From the origin, past the store: a method or a request that no cache may answer. */
  | 'bypass'
  | 'tunnel'
  /** The origin failed, and this node said so. */
  | 'error'
  /** This node refused. */
  | 'refused';

export interface AnswerRecord {
  /** When the request came, by the proxy's clock. */
  readonly at: number;
  /** Address of the client. */
  readonly client: string;
  readonly method: string;
  /** The cache key where there is one, else the target as the client wrote it. */
  readonly url: string;
  readonly status: number;
  readonly outcome: AnswerOutcome;
  /** Why: `fwd` of Cache-Status, or the code of the refusal or failure; empty for a hit. */
  readonly reason: string;
  /** Bytes of the body that were given to the client's socket. */
  readonly bytesOut: number;
  readonly bytesFromOrigin: number;
  readonly durationMs: number;
  /** The client or the origin went away before the end: the answer was cut. */
  readonly aborted: boolean;
}

/** Tells nobody. */
export const SILENT_OBSERVER: ProxyObserver = { answered() {}, event() {} };
