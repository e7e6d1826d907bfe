/**
 * The queue disciplines that experiments compare, by name, each with the parameters that its
 * authors or its users would take for a buffer of a given length. Everything else is a matter of
 * options of the classes.
 */

import { FairQueue } from '../queues/fair-queue.ts';
import { FifoQueue } from '../queues/fifo-queue.ts';
import type { PacketQueue, QueueItem } from '../queues/packet-queue.ts';
import { FairRateQueue } from '../queues/rates/fair-rate-queue.ts';
import { RedQueue } from '../queues/red-queue.ts';
import { SfbQueue } from '../queues/sfb/sfb-queue.ts';
import type { QueueTools } from './simulate-bottleneck.ts';

interface QueueChoice {
  /** One line for users. */
  readonly how: string;
  make<Item extends QueueItem>(limitPackets: number, tools: QueueTools): PacketQueue<Item>;
}

export const QUEUE_CHOICES = {
  fifo: {
    how: 'first in, first out; a packet that finds the queue full is dropped',
    make: (limitPackets) => new FifoQueue({ limitPackets }),
  },
  red: {
    how: 'random early detection from a fifth to three fifths of the buffer, by its average length',
    make: (limitPackets, { random, packetMs }) => {
      const [minimum, maximum] = [limitPackets / 5, (3 * limitPackets) / 5];
      return new RedQueue({ limitPackets, minimum, maximum, packetMs, random });
    },
  },
  fair: {
    how: 'fair queueing: a queue for each flow, served in turn; the longest loses packets',
    make: (limitPackets) => new FairQueue({ limitPackets }),
  },
  'sfb-linux': {
    how: 'stochastic fair Blue with the defaults of Linux: 8 levels of 16 bins, target 20, max 25',
    make: (limitPackets, { random, nextKey }) => SfbQueue.linux({ limitPackets, random, nextKey }),
  },
  'sfb-survey': {
    how: 'stochastic fair Blue as in the survey: 2 of 46 counters, one step of 0.005, bins of 1.5/23 of the buffer',
    make: (limitPackets, { random, nextKey }) =>
      SfbQueue.survey({
        limitPackets,
        counters: 46,
        hashes: 2,
        threshold: Math.max(1, Math.ceil((1.5 * limitPackets) / 23)),
        delta: 0.005,
        random,
        nextKey,
      }),
  },
  rates: {
    how: 'fair rates by 2 levels of 1024 bins: a flow above 1.3 fair parts of a busy link is cut to them',
    make: (limitPackets, { random, nextKey, packetMs }) =>
      new FairRateQueue({
        limitPackets,
        packetsPerSecond: 1000 / packetMs,
        busyPackets: limitPackets / 20,
        random,
        nextKey,
      }),
  },
} satisfies Record<string, QueueChoice>;

export type QueueName = keyof typeof QUEUE_CHOICES;
