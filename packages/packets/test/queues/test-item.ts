/** Packets for tests of queues, and secret keys that are the same in every run. */

import type { Random } from '@bloomery/testkit/statistics';
import { SecretKey } from 'bloomery';
import type { QueueItem } from '../../src/queues/packet-queue.ts';

export class TestItem implements QueueItem {
  readonly flow: number;
  readonly byteLength: number;
  readonly isEcnCapable: boolean;
  isMarked = false;

  constructor(flow: number, { byteLength = 1000, isEcnCapable = false } = {}) {
    this.flow = flow;
    this.byteLength = byteLength;
    this.isEcnCapable = isEcnCapable;
  }

  mark(): void {
    this.isMarked = true;
  }
}

export function keysFrom(random: Random): () => SecretKey {
  return () => new SecretKey(random.bytes(16));
}

/** A number in [0, 1). */
export function drawsFrom(random: Random): () => number {
  return () => random.bits() / 2 ** 32;
}
