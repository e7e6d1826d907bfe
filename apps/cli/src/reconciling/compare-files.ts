/**
 * Compares the keys of two files by a session whose two sides are in this process. It gives the
 * answer of `comm` without sorting, and tells what the same comparison would cost between two
 * machines. Keys themselves are not sent: both sides are here.
 */

import { Reconciler } from '@bloomery/reconcile';
import type { PackedKeys } from 'bloomery';
import { letSignalsIn } from '../terminal/orderly-end.ts';
import { type KeyDifference, ownKeys, RoundTrips } from './key-difference.ts';

/** Bytes stay in memory here, so the limit of a connection has no purpose. */
const MOST_BYTES = 2 ** 40;

export async function compareFiles(
  here: PackedKeys,
  there: PackedKeys,
  signal: AbortSignal,
): Promise<KeyDifference> {
  const limits = { maxBytes: MOST_BYTES };
  const random = () => crypto.getRandomValues(new Uint8Array(8));
  const a = new Reconciler(here, { role: 'initiator', random: random(), ...limits });
  const b = new Reconciler(there, { role: 'responder', random: random(), ...limits });
  const trips = new RoundTrips();
  while (!(a.done && b.done)) {
    for (let bytes = a.pull(); bytes !== null; bytes = a.pull()) {
      trips.sent();
      b.receive(bytes);
    }
    // One piece at a time, so that the initiator can say that it has enough symbols.
    const answer = b.pull();
    if (answer !== null) {
      trips.received();
      a.receive(answer);
    }
    await letSignalsIn();
    signal.throwIfAborted();
  }
  const { bytesSent, bytesReceived, attempts } = a.progress;
  return {
    onlyHere: ownKeys(a.result),
    onlyThere: ownKeys(b.result),
    onlyThereCount: b.result.onlyHere.length,
    cost: { method: a.result.method, bytesSent, bytesReceived, roundTrips: trips.count, attempts },
  };
}
