/**
 * Joins the group, and again after each failure, with growing pauses: a machine may start before
 * its network does.
 *
 * A card that is removed takes the membership with it, and the system tells neither this nor that
 * another card has come in its place. But it gives a node its own datagrams back. So a socket that
 * brought datagrams, and brings none any more while this node sends three beats, is replaced.
 */

import type { Cancel, Clock } from '../clock.ts';
import { Backoff } from '../link/backoff.ts';
import type { MulticastLimits } from './multicast-limits.ts';
import type { MulticastSocket, MulticastSocketOptions, OpenMulticastSocket } from './multicast-socket.ts';

export interface GroupConnectionOptions extends Omit<MulticastSocketOptions, 'failed'> {
  readonly clock: Clock;
  readonly limits: MulticastLimits;
  readonly open: OpenMulticastSocket;
  readonly joined: () => void;
  readonly lost: (why: string) => void;
}

const SILENT_BEATS = 3;

export class GroupConnection {
  readonly #options: GroupConnectionOptions;
  readonly #backoff: Backoff;
  #socket: MulticastSocket | null = null;
  #isClosed = false;
  /** Beats since the last datagram came, or null before the first one on this socket. */
  #silentBeats: number | null = null;
  #stopTimer: Cancel;

  constructor(options: GroupConnectionOptions) {
    const { clock, limits } = options;
    this.#options = options;
    this.#backoff = new Backoff(clock, { firstMs: limits.firstPauseMs, mostMs: limits.longestPauseMs });
    this.#stopTimer = clock.after(0, () => void this.#join());
  }

  get isJoined(): boolean {
    return this.#socket !== null;
  }

  /** Sends a datagram. Without a socket it is lost. */
  send(datagram: Uint8Array): void {
    this.#socket?.send(datagram);
  }

  /** This node has sent a beat. */
  beat(): void {
    if (this.#socket === null || this.#silentBeats === null || this.#silentBeats++ < SILENT_BEATS) return;
    void this.#socket.close();
    this.#failed('nothing is heard, not even the datagrams of this node');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    const socket = this.#socket;
    this.#socket = null;
    await socket?.close();
  }

  async #join(): Promise<void> {
    const { group, network, hops, open, joined } = this.#options;
    this.#silentBeats = null;
    const heard = (datagram: Buffer) => {
      this.#silentBeats = 0;
      this.#options.heard(datagram);
    };
    try {
      const socket = await open({
        group,
        network,
        hops,
        heard,
        failed: ({ message }) => this.#failed(message),
      });
      if (this.#isClosed) return void socket.close();
      this.#socket = socket;
    } catch (error) {
      this.#failed((error as Error).message);
      return;
    }
    this.#backoff.reset();
    joined();
  }

  #failed(why: string): void {
    this.#socket = null;
    if (this.#isClosed) return;
    this.#options.lost(why);
    this.#stopTimer = this.#options.clock.after(this.#backoff.nextMs(), () => void this.#join());
  }
}
