/**
 * One session between two sides in this process, as over a link whose delay is longer than anything
 * takes to send: each side sends all that it may before the other one hears any of it. So bytes
 * that a quick "stop" could save are counted, and each turn is a round trip.
 */

import { type ReconcileKeys, Reconciler } from '@bloomery/reconcile';

export interface SessionRun {
  readonly bytes: number;
  readonly trips: number;
  readonly method: string;
  readonly attempts: number;
  readonly cpuMs: number;
  readonly onlyA: readonly unknown[];
  readonly onlyB: readonly unknown[];
}

export function runSession(
  a: ReconcileKeys,
  b: ReconcileKeys,
  random: () => Uint8Array,
  eager?: boolean,
): SessionRun {
  const start = process.cpuUsage();
  const more = eager === undefined ? {} : { eager };
  const left = new Reconciler(a, { role: 'initiator', random: random(), ...more });
  const right = new Reconciler(b, { role: 'responder', random: random() });
  let trips = 0;
  while (!(left.done && right.done)) {
    const there = drain(left);
    for (const bytes of there) right.receive(bytes);
    const back = drain(right);
    for (const bytes of back) left.receive(bytes);
    if (there.length + back.length === 0)
      throw new Error('Cannot go on: expected a message, got none from either side');
    trips++;
  }
  const { user, system } = process.cpuUsage(start);
  const { bytesSent, bytesReceived, attempts } = left.progress;
  return {
    bytes: bytesSent + bytesReceived,
    trips,
    method: left.result.method,
    attempts,
    cpuMs: (user + system) / 1000,
    onlyA: left.result.onlyHere,
    onlyB: right.result.onlyHere,
  };
}

function drain(side: Reconciler): Uint8Array[] {
  const all: Uint8Array[] = [];
  for (let bytes = side.pull(); bytes !== null; bytes = side.pull()) all.push(bytes);
  return all;
}
