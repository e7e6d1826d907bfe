/** Pairs of sets as packed keys of 8 bytes, and an exact session between them. */

import { Reconciler } from '@bloomery/reconcile';
import type { PackedKeys } from 'bloomery';

const KEY_BYTES = 8;

export interface Sets {
  readonly here: PackedKeys;
  readonly there: PackedKeys;
  /** Keys that only `here` has; `there` has as many of its own. */
  readonly onlyHere: number;
}

/** Two sets of `n` keys with `d` differences, half on each side. `seed` makes other keys. */
export function setsOf(n: number, d: number, seed: number): Sets {
  const onlyHere = d / 2;
  const bytes = new Uint8Array(KEY_BYTES * (n + onlyHere));
  const words = new Uint32Array(bytes.buffer);
  for (let i = 0; i < n + onlyHere; i++) {
    words[2 * i] = Math.imul(i + 1, 0x9e3779b1);
    words[2 * i + 1] = seed;
  }
  const offsets = Uint32Array.from({ length: n + 1 }, (_, i) => KEY_BYTES * i);
  return {
    here: { bytes: bytes.slice(0, KEY_BYTES * n), offsets },
    there: { bytes: bytes.slice(KEY_BYTES * onlyHere), offsets },
    onlyHere,
  };
}

export interface SessionCost {
  /** Bytes of both directions. */
  readonly bytes: number;
  readonly found: number;
}

/** Runs an exact session, which tells both sides. */
export function exactSession({ here, there }: Sets, seed: number): SessionCost {
  const random = (side: number) => Uint8Array.of(seed & 255, seed >> 8, side, 0, 0, 0, 0, 0);
  const a = new Reconciler(here, { role: 'initiator', random: random(1) });
  const b = new Reconciler(there, { role: 'responder', random: random(2) });
  while (!(a.done && b.done)) {
    for (let bytes = a.pull(); bytes !== null; bytes = a.pull()) b.receive(bytes);
    const bytes = b.pull();
    if (bytes !== null) a.receive(bytes);
  }
  const { bytesSent, bytesReceived } = a.progress;
  return { bytes: bytesSent + bytesReceived, found: a.result.onlyHere.length };
}
