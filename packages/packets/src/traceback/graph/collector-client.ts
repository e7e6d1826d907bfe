/**
 * Asks collectors over HTTP. A collector is another machine, perhaps one that an attacker holds, so
 * its answers are untrusted input: limited in time and size, and checked. All that goes wrong is a
 * silence with a reason, which the walk crosses and marks.
 */

import type { TimeSpan } from '../tables/digest-table.ts';
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
      return readAnswer(response.status, await limitedText(response));
    } catch (error) {
      const { cause, message, name } = error as Error & { cause?: NodeJS.ErrnoException };
      return { silent: name === 'TimeoutError' ? `no answer in ${timeoutMs} ms` : (cause?.code ?? message) };
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

/** Checks an answer. An answer of another shape is a silence. */
export function readAnswer(status: number, text: string): CollectorAnswer {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { silent: `answered ${status} without JSON` };
  }
  if (status !== 200) {
    const { code } = (value?.error ?? {}) as { code?: unknown };
    return { silent: `refused: ${typeof code === 'string' ? code.slice(0, 40) : status}` };
  }
  const { seen, chanceOfAny, sightings, changes } = value ?? {};
  const isRight =
    typeof seen === 'boolean' &&
    typeof chanceOfAny === 'number' &&
    chanceOfAny >= 0 &&
    chanceOfAny <= 1 &&
    Array.isArray(sightings) &&
    Array.isArray(changes);
  if (!isRight) return { silent: 'answered something else' };
  return {
    seen,
    chance: chanceOfAny,
    sightings: sightings.slice(0, 100).filter(isSpan),
    changes: changes.slice(0, MOST_CHANGES).flatMap(readChange),
  };
}

function isSpan(value: unknown): value is TimeSpan {
  const { firstS, lastS } = (value ?? {}) as Record<string, unknown>;
  return typeof firstS === 'number' && typeof lastS === 'number';
}

function readChange(value: unknown): PacketForm[] {
  const { kind, packet } = (value ?? {}) as Record<string, unknown>;
  if (!KINDS.includes(kind as ChangeKind)) return [];
  if (typeof packet !== 'string' || packet.length > MOST_PACKET_TEXT) return [];
  return [{ kind: kind as ChangeKind, packet: Uint8Array.from(Buffer.from(packet, 'base64')) }];
}
