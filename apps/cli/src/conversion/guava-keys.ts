/** Turns lines into the key types of Guava's funnels. */

import type { GuavaFunnel, GuavaKey } from 'bloomery/formats/guava';
import { UsageError } from '../usage-error.ts';

/**
 * Returns the function that turns the bytes of a line into a key. UTF-8 text stays bytes: see
 * `funnelOfBytes`.
 */
export function guavaKey(funnel: GuavaFunnel): (key: Uint8Array) => GuavaKey {
  if (funnel === 'utf16') return textOf;
  if (funnel === 'int') return (key) => Number(integer(key));
  if (funnel === 'long') return integer;
  return (key) => key;
}

/** The funnel to use for bytes. `stringFunnel(UTF_8)` hashes the bytes of a UTF-8 string. */
export function funnelOfBytes(funnel: GuavaFunnel): GuavaFunnel {
  return funnel === 'utf8' ? 'bytes' : funnel;
}

export function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('utf8');
}

function integer(key: Uint8Array): bigint {
  const digits = textOf(key).trim();
  if (!/^-?\d+$/.test(digits)) {
    throw new UsageError(`--funnel int and long take integers, got ${JSON.stringify(digits.slice(0, 40))}`);
  }
  return BigInt(digits);
}
