/**
 * Runs two sessions against each other in lock-step, and makes pairs of sets. The sides take turns:
 * the initiator sends all that it has, the responder one message.
 */

import type { Random } from '@bloomery/testkit/statistics';
import type { Key } from 'bloomery';
import {
  type ReconcileKeys,
  type ReconcileResult,
  Reconciler,
  type ReconcilerOptions,
} from '../src/index.ts';

export type LabOptions = Partial<Omit<ReconcilerOptions, 'role'>>;

export interface LabResult {
  readonly a: ReconcileResult;
  readonly b: ReconcileResult;
  /** Bytes of both directions. */
  readonly bytes: number;
  readonly symbols: number;
  readonly attempts: number;
  readonly estimate: number | null;
}

/** Two sessions that know each other's keys only by messages. */
export function pairOf(
  a: ReconcileKeys,
  b: ReconcileKeys,
  random: Random,
  options: LabOptions = {},
): [Reconciler, Reconciler] {
  return [
    new Reconciler(a, { role: 'initiator', random: random.bytes(8), ...options }),
    new Reconciler(b, { role: 'responder', random: random.bytes(8), ...options }),
  ];
}

/** Carries the messages between two sessions until both are done. */
export function carry(
  a: Reconciler,
  b: Reconciler,
  seen?: (from: 'a' | 'b', bytes: Uint8Array) => void,
): void {
  while (!(a.done && b.done)) {
    let moved = false;
    for (let bytes = a.pull(); bytes !== null; bytes = a.pull()) {
      seen?.('a', bytes);
      b.receive(bytes);
      moved = true;
    }
    const bytes = b.pull();
    if (bytes !== null) {
      seen?.('b', bytes);
      a.receive(bytes);
      moved = true;
    }
    if (!moved && !(a.done && b.done)) throw new Error('Cannot go on: expected a message, got none');
  }
}

export function reconcileInLab(
  a: ReconcileKeys,
  b: ReconcileKeys,
  random: Random,
  options?: LabOptions,
): LabResult {
  const [left, right] = pairOf(a, b, random, options);
  carry(left, right);
  const { bytesSent, bytesReceived, symbols, attempts, estimate } = left.progress;
  return { a: left.result, b: right.result, bytes: bytesSent + bytesReceived, symbols, attempts, estimate };
}

export interface KeyPair {
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly onlyA: readonly number[];
  readonly onlyB: readonly number[];
}

/**
 * Two sets of about `n` keys with `d` differences, of which `onlyA` are in the first set. Keys are
 * integers that depend on `random`, in an order that says nothing.
 */
export function keyPair(random: Random, n: number, d: number, onlyA = d >> 1): KeyPair {
  const base = random.below(2 ** 20) * 2 ** 30;
  const key = (i: number) => base + i;
  const common = Math.max(0, n - onlyA);
  const shared = Array.from({ length: common }, (_, i) => key(i));
  const here = Array.from({ length: onlyA }, (_, i) => key(common + i));
  const there = Array.from({ length: d - onlyA }, (_, i) => key(common + onlyA + i));
  return { a: [...here, ...shared], b: [...shared, ...there], onlyA: here, onlyB: there };
}

/** Whether the results are exactly the differences. */
export function isExact({ a, b }: LabResult, { onlyA, onlyB }: KeyPair): boolean {
  return (
    sameKeys(a.onlyHere, onlyA) &&
    sameKeys(b.onlyHere, onlyB) &&
    a.onlyThereCount === onlyB.length &&
    b.onlyThereCount === onlyA.length
  );
}

function sameKeys(found: readonly Key[], expected: readonly number[]): boolean {
  return found.length === expected.length && found.every((key, i) => key === expected[i]);
}
