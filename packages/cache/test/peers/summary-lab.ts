/** Two nodes on a network in memory, by a virtual clock: `a` tells a summary, `b` follows it. */

import { SimNetwork } from '@bloomery/sim';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { hashKey, hashScheme, type KeyHash, SecretKey } from 'bloomery';
import { NeighbourLink } from '../../src/peers/neighbour-link.ts';
import { NeighbourSummaries } from '../../src/peers/neighbour-summaries.ts';
import { SlicedWork } from '../../src/peers/sliced-work.ts';

export const SCHEME = hashScheme({ key: new SecretKey(new Uint8Array(16).fill(5)) });
export const KEY_ID = 9;

export function hashOf(key: string): KeyHash {
  return hashKey(key, SCHEME);
}

export class SummaryLab {
  readonly clock = new VirtualClock();
  readonly network = new SimNetwork(this.clock.simulation);
  readonly a = this.network.join({ id: 'a', peers: ['sim:b'] });
  readonly b = this.network.join({ id: 'b', peers: ['sim:a'] });
  readonly work = new SlicedWork(this.clock);
  /** Events that the parts told, by name. */
  readonly events: string[] = [];
  readonly summaries = new NeighbourSummaries({
    limitBytes: 1e8,
    work: this.work,
    failed: (error) => {
      throw error;
    },
  });

  /** Follows the summary of `a` at `b`. */
  follow(maxPositions = 1e6): NeighbourLink {
    const link = new NeighbourLink(this.b.peers()[0], {
      transport: this.b,
      clock: this.clock,
      work: this.work,
      summaries: this.summaries,
      keyIds: () => [KEY_ID],
      maxPositions,
      event: this.event,
    });
    this.b.watchPeers((peer) => link.changed(peer));
    return link;
  }

  readonly event = (_level: 'info' | 'warn', name: string): void => {
    this.events.push(name);
  };

  /** Whether `b` believes that `a` holds a key. */
  finds(key: string): boolean {
    return this.summaries.candidates({ ...hashOf(key), keyId: KEY_ID }).length > 0;
  }
}
