/**
 * The proxy's reports: one record for each request that it answered (or refused, or tunnelled), and
 * events for operators. An access log, metrics and a status page are built from these two calls;
 * the proxy itself keeps no log.
 *
 * Both are called on the hot path, must be cheap and must not throw. A slow observer needs a buffer
 * of its own.
 */

import type { NotStored } from '../policy/not-stored.ts';

export interface ProxyObserver {
  /** Called once per request, when its answer is handed over or has failed. */
  answered(record: AnswerRecord): void;
  event(level: EventLevel, name: string, fields: Record<string, unknown>): void;
}

export type EventLevel = 'debug' | 'info' | 'warn' | 'error';

export type AnswerOutcome =
  /** From the store, fresh. */
  | 'hit'
  /** From the store, stale, because the response or an unreachable origin allows it. */
  | 'stale'
  /** From the store, after the origin confirmed that it is still valid. */
  | 'validated'
  /** From the origin. */
  | 'miss'
  /** From a neighbour, which is another cache of the fleet. */
  | 'neighbour'
  /** From another request's fetch. */
  | 'collapsed'
  /** From the origin, bypassing the store: a method or a request that no cache may answer. */
  | 'bypass'
  | 'tunnel'
  /** The origin failed, and this node reported that to the client. */
  | 'error'
  /** This node refused. */
  | 'refused';

export interface AnswerRecord {
  /** Time at which the request arrived, by the proxy's clock. */
  readonly at: number;
  /** Address of the client. */
  readonly client: string;
  readonly method: string;
  /** The cache key if there is one, otherwise the target as the client wrote it. */
  readonly url: string;
  readonly status: number;
  readonly outcome: AnswerOutcome;
  /** The reason: `fwd` of Cache-Status, or the code of the refusal or failure; empty for a hit. */
  readonly reason: string;
  /** Bytes of the body that were written to the client's socket. */
  readonly bytesOut: number;
  readonly bytesFromOrigin: number;
  /** Bytes of the body that came from neighbours; absent if there were none. */
  readonly bytesFromNeighbours?: number;
  /** The reason why neighbours were asked or not, if this request caused a fetch. */
  readonly neighbours?: string;
  /** The name or the address of the neighbour that gave the response; absent if none did. */
  readonly neighbour?: string;
  /** The member of Cache-Status that this node wrote; absent if it wrote none. */
  readonly cacheStatus?: string;
  /** The fields of a plain hit, which have that member. They are shared, and built once. */
  readonly fields?: readonly string[];
  readonly durationMs: number;
  /** The client or the origin disconnected before the end, so the answer was cut off. */
  readonly aborted: boolean;
  /** Reason why the response from the origin was not stored; absent if it was, or none came. */
  readonly notStored?: NotStored;
}
