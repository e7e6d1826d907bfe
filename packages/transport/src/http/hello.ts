/**
 * The hello that begins a stream: who speaks, in which version of the protocol, how often it gives
 * a sign of life. It is JSON, because later versions add fields and readers ignore those they do
 * not know.
 */

import { isNodeId } from './signature.ts';

/** The versions of the protocol that this program speaks, the best first. */
export const PROTOCOLS: readonly number[] = [1];

export interface Hello {
  readonly node: string;
  /** The version that this stream uses. */
  readonly protocol: number;
  /** A random word of the sender's process: a restarted node has another one. */
  readonly life: string;
  readonly heartbeatMs: number;
  /** The number of the next message, by which a reader that pulls asks for more. */
  readonly next: number;
  /** True if messages since the number that was asked for are no longer there. */
  readonly gap: boolean;
  /** The ids of the secrets that the sender accepts now; empty if it does not say. */
  readonly keys: readonly number[];
  /** True if the sender is about to end: it wants no more questions. */
  readonly leaving?: true;
  /** True if the sender has other certificates, and ends this stream soon: open another one. */
  readonly renew?: true;
}

const MOST_BYTES = 4096;
/** More ids than any node has secrets. */
const MOST_KEYS = 16;
const LIFE = /^[\w-]{1,32}$/;
/** Longer intervals would let a dead neighbour count as alive for many minutes. */
const MOST_HEARTBEAT_MS = 60_000;

export function encodeHello(hello: Hello): Uint8Array {
  return Buffer.from(JSON.stringify({ ...hello, protocols: PROTOCOLS }));
}

/** Reads a hello. Null if it is not one. */
export function decodeHello(bytes: Uint8Array): Hello | null {
  if (bytes.length > MOST_BYTES) return null;
  let value: Partial<Record<keyof Hello, unknown>> | null;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  const { node, protocol, life, heartbeatMs, next, gap, keys = [], leaving, renew } = value ?? {};
  if (typeof node !== 'string' || !isNodeId(node)) return null;
  if (typeof protocol !== 'number' || !PROTOCOLS.includes(protocol)) return null;
  if (typeof life !== 'string' || !LIFE.test(life)) return null;
  if (typeof heartbeatMs !== 'number' || !(heartbeatMs > 0 && heartbeatMs <= MOST_HEARTBEAT_MS)) return null;
  if (typeof next !== 'number' || !Number.isSafeInteger(next) || next < 0) return null;
  if (typeof gap !== 'boolean') return null;
  if (!Array.isArray(keys) || keys.length > MOST_KEYS || !keys.every(isKeyId)) return null;
  const hello = { node, protocol, life, heartbeatMs, next, gap, keys };
  if (leaving === true) return { ...hello, leaving };
  return renew === true ? { ...hello, renew } : hello;
}

function isKeyId(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
}

/** The best version in a list of an asker, such as "2,1"; null if there is none in common. */
export function commonProtocol(list: string): number | null {
  const offered = list.split(',').map(Number);
  return PROTOCOLS.find((version) => offered.includes(version)) ?? null;
}
