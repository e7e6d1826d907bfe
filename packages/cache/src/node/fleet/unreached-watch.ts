/**
 * Tells the operator why neighbours cannot be reached: a wrong port, another secret, a clock that
 * is wrong, a certificate that is missing. The hub logs a neighbour that goes down, with the reason
 * of that moment. It says nothing of one that was never up, nor of a reason that shows later, such
 * as another secret after the restart of a neighbour.
 *
 * It looks at the neighbours every 15 s, because nodes that start together reach each other within
 * seconds and need no warning. Each reason is told once for each time that a neighbour is down, and
 * eight reasons at most, so a reason with a changing number in it cannot fill the log.
 */

import type { Cancel, Clock, Peer, Transport } from '@bloomery/transport';

export interface UnreachedWatchOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly event: (level: 'warn', name: string, fields: Record<string, unknown>) => void;
}

const LOOK_MS = 15_000;
const MOST_REASONS = 8;

export class UnreachedWatch {
  readonly #options: UnreachedWatchOptions;
  /** The reasons that were told, by the address of a neighbour that is down. */
  readonly #told = new Map<string, Set<string>>();
  readonly #stopWatching: Cancel;
  #stopTimer: Cancel = () => {};

  constructor(options: UnreachedWatchOptions) {
    this.#options = options;
    this.#stopWatching = options.transport.watchPeers((peer) => this.#changed(peer));
    this.#schedule();
  }

  close(): void {
    this.#stopWatching();
    this.#stopTimer();
  }

  #schedule(): void {
    this.#stopTimer = this.#options.clock.after(LOOK_MS, () => {
      this.#look();
      this.#schedule();
    });
  }

  #changed({ address, state, id, why }: Peer): void {
    if (state !== 'down') this.#told.delete(address);
    // The hub has told the reason of one that was up.
    else if (id !== null && why !== null && !this.#told.has(address)) this.#told.set(address, new Set([why]));
  }

  #look(): void {
    const { transport, clock, event } = this.#options;
    for (const { address, id, state, why, since } of transport.peers()) {
      if (state !== 'down' || why === null) continue;
      const forMs = Math.round(clock.now() - since);
      const told = this.#told.get(address) ?? new Set();
      // A neighbour that has just been added may be on its way.
      if (forMs < LOOK_MS / 2 || told.has(why) || told.size >= MOST_REASONS) continue;
      this.#told.set(address, told.add(why));
      event('warn', 'peer-unreached', { peer: address, id, why, forMs });
    }
  }
}
