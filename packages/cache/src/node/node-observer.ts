/**
 * The observer of a node: counts each answer, notes it for the console, writes it to the access log
 * if there is one, and passes events to the log. It is called for each request, so it does nothing
 * else.
 */

import type { AnswerRecord, EventLevel, ProxyObserver } from '../proxy/proxy-observer.ts';
import type { Refusal } from '../safety/refusal.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { AnswerRecorder } from './console/answer-recorder.ts';
import { AccessLog } from './log/access-log.ts';
import type { Log } from './log/log.ts';
import { NodeCounters } from './metrics/node-counters.ts';

/** Refusals because a client, or all of them, have too much open. */
const LIMITS: ReadonlySet<string> = new Set(['connections', 'connections-per-client', 'requests-per-client']);

export class NodeObserver implements ProxyObserver {
  readonly counters = new NodeCounters();
  readonly log: Log;
  readonly #clock: () => number;
  readonly #recorder: AnswerRecorder;
  #accessLog: AccessLog | null = null;
  /** Lines lost by the current access log and those before it. */
  dropped = 0;

  constructor(log: Log, clock: () => number, recorder: AnswerRecorder) {
    this.#recorder = recorder;
    this.log = log;
    this.#clock = clock;
  }

  answered(record: AnswerRecord): void {
    this.counters.answered(record);
    this.#recorder.add(record);
    this.#accessLog?.add(record);
  }

  event(level: EventLevel, name: string, fields: Record<string, unknown>): void {
    this.log.event(level, name, fields);
  }

  /** Records a refusal by the guards, which happens before the proxy sees the request. */
  refused(
    { code, status }: Refusal,
    from: { client: string; method: string | null; target: string | null },
  ): void {
    // An operator must see that a limit is too low, or who is over it, without an access log.
    if (LIMITS.has(code)) this.log.event('warn', 'client-refused', { client: from.client, reason: code });
    this.answered({
      at: this.#clock(),
      client: from.client,
      method: from.method ?? '-',
      url: from.target ?? '-',
      status,
      outcome: 'refused',
      reason: code,
      bytesOut: 0,
      bytesFromOrigin: 0,
      durationMs: 0,
      aborted: false,
    });
  }

  /** Throws if the file cannot be opened; then the previous log stays in use. */
  useAccessLog({ accessLog: path, logFormat: format }: NodeConfig): void {
    const failed = (error: Error) => this.log.event('error', 'access-log', { problem: error });
    const dropped = (lines: number) => {
      this.dropped += lines;
    };
    const next = path === null ? null : new AccessLog({ path, format, failed, dropped });
    void this.close();
    this.#accessLog = next;
  }

  reopenAccessLog(): void {
    try {
      this.#accessLog?.reopen();
    } catch (error) {
      this.log.event('error', 'access-log', { problem: error });
    }
  }

  async close(): Promise<void> {
    const old = this.#accessLog;
    this.#accessLog = null;
    await old?.close();
  }
}
