/**
 * The presence of a node, which it publishes every 5 s and when it comes and goes: where its peer
 * port is, which secrets it accepts, and the number of its last message on each topic. The numbers
 * let a receiver notice a message that the server lost, at the next beat at the latest.
 *
 * It is JSON, because later versions add fields and readers ignore those they do not know. The name
 * of the node and its life stand in the envelope.
 */

import { peerAddress } from '../http/peer-address.ts';
import { isGroupName, isTopic } from '../transport.ts';

export interface Presence {
  /** The URL of the peer port as other nodes reach it, or null if the node only asks. */
  readonly address: string | null;
  /**
   * Start of this life by the sender's clock. If two nodes have one address, the later one counts.
   */
  readonly born: number;
  readonly heartbeatMs: number;
  /** The ids of the secrets that the sender accepts now. */
  readonly keys: readonly number[];
  /** The number of the last message on each topic. */
  readonly numbers: Readonly<Record<string, number>>;
  /** The group of the sender, or null if it is in none. */
  readonly group: string | null;
  /** Others shall greet the sender, because it has just connected. */
  readonly hail: boolean;
  /** The sender leaves. */
  readonly leaving: boolean;
}

const MOST_BYTES = 32 * 1024;
const MOST_KEYS = 16;
const MOST_TOPICS = 256;
/** Longer intervals would let a dead neighbour count as alive for many minutes. */
const MOST_HEARTBEAT_MS = 60_000;

export function encodePresence(presence: Presence): Uint8Array {
  const { group, ...rest } = presence;
  return Buffer.from(JSON.stringify(group === null ? rest : presence));
}

/** Reads a presence. Null if it is none. */
export function decodePresence(bytes: Uint8Array): Presence | null {
  if (bytes.length > MOST_BYTES) return null;
  let value: Partial<Record<keyof Presence, unknown>> | null;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  const {
    address,
    born,
    heartbeatMs,
    keys,
    numbers,
    group = null,
    hail = false,
    leaving = false,
  } = value ?? {};
  if (address !== null && (typeof address !== 'string' || !isAddress(address))) return null;
  if (!isCount(born)) return null;
  if (typeof heartbeatMs !== 'number' || !(heartbeatMs > 0 && heartbeatMs <= MOST_HEARTBEAT_MS)) return null;
  if (!Array.isArray(keys) || keys.length > MOST_KEYS || !keys.every(isKeyId)) return null;
  if (group !== null && (typeof group !== 'string' || !isGroupName(group))) return null;
  if (!isNumbers(numbers) || typeof hail !== 'boolean' || typeof leaving !== 'boolean') return null;
  return { address, born, heartbeatMs, keys, numbers, group, hail, leaving };
}

function isAddress(text: string): boolean {
  try {
    peerAddress(text);
    return text.length <= 512;
  } catch {
    return false;
  }
}

function isNumbers(value: unknown): value is Record<string, number> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MOST_TOPICS && entries.every(([topic, number]) => isTopic(topic) && isCount(number))
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isKeyId(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
}
