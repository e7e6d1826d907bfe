/**
 * Questions to a collector, as they come in: JSON of a fixed shape (docs/spec/traceback.md). Each
 * way in which a question can be wrong is a `TracebackError`; nothing is guessed.
 */

import type { TimeSpan } from '../tables/digest-table.ts';
import { TracebackError } from '../traceback-error.ts';

export interface SeenQuestion {
  /** The packet, from its IP header on. */
  readonly packet: Uint8Array;
  readonly window: TimeSpan;
}

export interface SourceQuestion {
  /** An address of 4 or 16 bytes. */
  readonly source: Uint8Array;
  readonly window: TimeSpan;
}

/** The longest packet of IP. */
const MOST_PACKET_BYTES = 65_535;
/** The end of a window that has none: the year 9999. */
const FAR_FUTURE_S = 253_402_300_800;

export function parseSeenQuestion(text: string): SeenQuestion {
  const { packet, from, to } = parseObject(text, ['packet', 'from', 'to']);
  return { packet: parsePacket(packet), window: parseWindow(from, to) };
}

export function parseSourceQuestion(text: string): SourceQuestion {
  const { source, from, to } = parseObject(text, ['source', 'from', 'to']);
  if (typeof source !== 'string') throw wrong('source', 'an IP address', typeof source);
  return { source: parseAddress(source), window: parseWindow(from, to) };
}

/** The bytes of an address in its usual text form. */
export function parseAddress(text: string): Uint8Array {
  const bytes = text.length > 45 ? null : (parseIpv4(text) ?? parseIpv6(text));
  if (bytes === null) throw wrong('source', 'an IP address', JSON.stringify(text.slice(0, 60)));
  return Uint8Array.from(bytes);
}

function parseIpv4(text: string): number[] | null {
  const parts = text.split('.');
  const isRight = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && +part < 256);
  return isRight ? parts.map(Number) : null;
}

function parseIpv6(text: string): number[] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  // The last 32 bits may be written as an IPv4 address.
  const last = groups.at(-1) as string[];
  const tail = last.length > 0 ? parseIpv4(last.at(-1) as string) : null;
  if (tail !== null) {
    const hex = (i: number) => ((tail[i] << 8) | tail[i + 1]).toString(16);
    last.splice(-1, 1, hex(0), hex(2));
  }
  const count = groups.reduce((sum, { length }) => sum + length, 0);
  if (halves.length === 1 ? count !== 8 : count > 7) return null;
  const zeros = new Array<string>(8 - count).fill('0');
  const all = halves.length === 1 ? groups[0] : [...groups[0], ...zeros, ...groups[1]];
  if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return all.flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

function parseObject(text: string, names: readonly string[]): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TracebackError('question', 'Cannot read the question: expected JSON, got other text', {
      cause,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong('the question', 'an object', Array.isArray(value) ? 'an array' : String(value).slice(0, 20));
  }
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw wrong('the question', `only ${names.join(', ')}`, JSON.stringify(unknown.slice(0, 60)));
  }
  return value as Record<string, unknown>;
}

function parsePacket(text: unknown): Uint8Array {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) {
    throw wrong('packet', 'base64', typeof text === 'string' ? 'other text' : typeof text);
  }
  const packet = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  if (packet.length > MOST_PACKET_BYTES) {
    throw wrong('packet', `at most ${MOST_PACKET_BYTES} bytes`, `${packet.length}`);
  }
  return packet;
}

/** Seconds since 1970. A question without an end asks up to the latest packet. */
function parseWindow(from: unknown, to: unknown = FAR_FUTURE_S): TimeSpan {
  for (const [name, value] of [
    ['from', from],
    ['to', to],
  ] as const) {
    if (typeof value !== 'number' || !(value >= 0 && value <= FAR_FUTURE_S)) {
      throw wrong(name, 'seconds since 1970', JSON.stringify(value)?.slice(0, 40) ?? 'nothing');
    }
  }
  const window = { firstS: from as number, lastS: to as number };
  if (window.lastS < window.firstS) {
    throw new TracebackError(
      'window',
      `Cannot use the window: expected an end after its start, got ${window.firstS} to ${window.lastS}`,
    );
  }
  return window;
}

function wrong(what: string, expected: string, got: string): TracebackError {
  return new TracebackError('question', `Cannot read ${what}: expected ${expected}, got ${got}`);
}
