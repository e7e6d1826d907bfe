/**
 * The bytes of a message about purges, and of its answer: JSON, version 1
 * (docs/spec/peer-purge.md). Purges are rare and their keys are text, so a binary form would save
 * nothing. A message that cannot be read gives null, and is not taken.
 */

import type { PurgeMessage, PurgePosition } from './purge-journal.ts';

const VERSION = 1;
const MOST_KEYS = 256;
const LONGEST_EPOCH = 64;
const LONGEST_KEY = 65_536;

export function encodePurges(message: PurgeMessage): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ v: VERSION, ...message }));
}

export function decodePurges(bytes: Uint8Array): PurgeMessage | null {
  const { v, epoch, after, keys, isReset } = parsed(bytes);
  if (v !== VERSION || !isEpoch(epoch) || !isCount(after) || typeof isReset !== 'boolean') return null;
  if (!Array.isArray(keys) || keys.length > MOST_KEYS || !keys.every(isKey)) return null;
  return { epoch, after, keys, isReset };
}

export function encodePosition(position: PurgePosition): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ v: VERSION, ...position }));
}

export function decodePosition(bytes: Uint8Array): PurgePosition | null {
  const { v, epoch, sequence } = parsed(bytes);
  return v === VERSION && isEpoch(epoch) && isCount(sequence) ? { epoch, sequence } : null;
}

function parsed(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isEpoch(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_EPOCH;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_KEY;
}
