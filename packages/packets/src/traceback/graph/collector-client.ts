/**
 * Asks collectors over HTTP. A collector is another machine, perhaps one that an attacker holds, so
 * its answers are untrusted input: limited in time and size, and checked. All that goes wrong is a
 * silence with a reason, which the walk crosses and marks.
 */

import { invariantOf } from '../digests/one-packet.ts';
import type { TimeSpan } from '../tables/digest-table.ts';
import { TracebackError } from '../traceback-error.ts';
import type { ChangeKind, PacketForm } from '../transforms/packet-forms.ts';
import type { CollectorEntry } from './topology.ts';
import type { AskCollector, CollectorAnswer } from './walk.ts';

export interface CollectorClientOptions {
  readonly collectors: ReadonlyMap<string, CollectorEntry>;
  readonly window: TimeSpan;
  /** The token for a collector. */
  readonly tokenOf: (id: string, entry: CollectorEntry) => string;
  /** Milliseconds that a collector has for an answer. Default 5000. */
  readonly timeoutMs?: number;
}

const MOST_BYTES = 1 << 20;
const MOST_CHANGES = 4;
const MOST_PACKET_TEXT = 90_000;
/** The year 9999. */
const FAR_FUTURE_S = 253_402_300_800;
/** A packet that a collector tells of has at least this much of its payload. */
const LEAST_PAYLOAD = 8;
const KINDS: readonly ChangeKind[] = ['nat', 'fragment', 'tunnel', 'icmp'];

/** A function that asks the collectors of a topology. */
export function collectorClient(options: CollectorClientOptions): AskCollector {
  const { collectors, window, tokenOf, timeoutMs = 5000 } = options;
  return async (id, packet) => {
    const entry = collectors.get(id);
    if (entry?.url === undefined) return { silent: 'has no collector' };
    try {
      const body = JSON.stringify({
        packet: Buffer.from(packet).toString('base64'),
        from: window.firstS,
        to: window.lastS,
      });
      const response = await fetch(new URL('/v1/seen', entry.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${tokenOf(id, entry)}`, 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      return readAnswer(response.status, await limitedText(response), window);
    } catch (error) {
      const { cause, message, name } = error as Error & { cause?: NodeJS.ErrnoException };
      const reason = cause?.code ?? cause?.message ?? message;
      return { silent: name === 'TimeoutError' ? `no answer in ${timeoutMs} ms` : reason };
    }
  };
}

async function limitedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > MOST_BYTES)
      throw new RangeError(`Cannot read the answer: expected at most ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/**
 * Checks an answer. An answer of another shape is a silence, and so is the no of a collector that
 * has nothing from the time of the question: it began later, or its tables were discarded.
 */
export function readAnswer(status: number, text: string, window: TimeSpan): CollectorAnswer {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { silent: `answered ${status} without JSON` };
  }
  if (status !== 200) {
    const { code } = (value?.error ?? {}) as { code?: unknown };
    const isCode = typeof code === 'string' && /^[a-z-]{1,40}$/.test(code);
    return { silent: `refused: ${isCode ? code : status}` };
  }
  const { seen, chanceOfAny, sightings, coveredFromS, changes, tables } = value ?? {};
  const isRight =
    typeof seen === 'boolean' &&
    typeof chanceOfAny === 'number' &&
    chanceOfAny >= 0 &&
    chanceOfAny <= 1 &&
    (typeof coveredFromS === 'number' || coveredFromS === null) &&
    Array.isArray(sightings) &&
    Array.isArray(changes);
  if (!isRight) return { silent: 'answered something else' };
  if (!seen && (coveredFromS ?? Number.POSITIVE_INFINITY) > window.lastS)
    return { silent: 'has no tables of that time' };
  return {
    seen,
    chance: chanceOfAny,
    sightings: sightings.slice(0, 100).filter(isSpan),
    changes: changes.slice(0, MOST_CHANGES).flatMap(readChange),
    ...(!seen && tables === 0 && { reason: 'no packets of that time' }),
  };
}

function isSpan(value: unknown): value is TimeSpan {
  const { firstS, lastS } = (value ?? {}) as Record<string, unknown>;
  const areNumbers = typeof firstS === 'number' && typeof lastS === 'number';
  return areNumbers && firstS >= 0 && lastS >= firstS && lastS <= FAR_FUTURE_S;
}

function readChange(value: unknown): PacketForm[] {
  const { kind, packet } = (value ?? {}) as Record<string, unknown>;
  if (!KINDS.includes(kind as ChangeKind)) return [];
  if (typeof packet !== 'string' || packet.length > MOST_PACKET_TEXT) return [];
  const bytes = Uint8Array.from(Buffer.from(packet, 'base64'));
  try {
    invariantOf(bytes, LEAST_PAYLOAD);
  } catch (error) {
    if (error instanceof TracebackError) return [];
    throw error;
  }
  return [{ kind: kind as ChangeKind, packet: bytes }];
}
