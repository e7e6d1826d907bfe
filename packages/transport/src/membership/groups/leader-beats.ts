/**
 * The leader of a group, as one of its nodes keeps it: each node publishes its stability and the
 * strongest claim that it knows every 5 s, on a transport that reaches the nodes of its group.
 * `LeaderElection` decides; this file has the timer, the messages and the list of nodes that were
 * seen.
 *
 * A beat is a JSON text of about 100 bytes, so a group of 64 costs each node 1.3 kB/s in, and as
 * much out. We refused a binary form: beats are rare, and an operator can read them.
 *
 * A node is seen while its link is open and its last message is at most three and a half beats old.
 * The name of the sender is the one that the transport proved, and not one in the message. A
 * message that cannot be read is ignored.
 */

import type { Cancel, Clock } from '../../clock.ts';
import type { Peer, Transport } from '../../transport.ts';
import { isClaim, type LeaderClaim, stabilityOf } from './decisions/leader-claim.ts';
import { LeaderElection, type LeaderElectionOptions } from './decisions/leader-election.ts';

export interface LeaderBeatsOptions extends Omit<LeaderElectionOptions, 'selfId'> {
  readonly transport: Pick<Transport, 'self' | 'peers' | 'watchPeers' | 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly beatMs?: number | undefined;
  /** Called with each claim that this node makes for itself. */
  readonly claimed?: ((claim: LeaderClaim) => void) | undefined;
}

/** The topic of beats. */
const LEADER_TOPIC = 'group-leader';
const BEAT_MS = 5000;
/** A node that was not heard for this many beats does not count as seen. */
const SEEN_BEATS = 3.5;
const MOST_NAME = 255;
/** The most bytes of a beat. The name in it may be written as escapes of six letters. */
const MOST_BEAT_BYTES = 2048;

interface Beat {
  readonly stability: number;
  readonly claim: LeaderClaim | null;
}

export class LeaderBeats {
  readonly #options: LeaderBeatsOptions;
  readonly #election: LeaderElection;
  readonly #beatMs: number;
  readonly #startedMs: number;
  readonly #unwatch: Cancel;
  /** The subscription to each neighbour, by its address. */
  readonly #links = new Map<string, Cancel>();
  readonly #seen = new Map<string, { readonly stability: number; readonly atMs: number }>();
  #cancelBeat: Cancel;

  constructor(options: LeaderBeatsOptions) {
    const { transport, clock, beatMs = BEAT_MS } = options;
    this.#options = options;
    this.#beatMs = beatMs;
    this.#startedMs = clock.monotonic();
    this.#election = new LeaderElection({ ...options, selfId: transport.self.id });
    for (const peer of transport.peers()) this.#follow(peer);
    this.#unwatch = transport.watchPeers((peer) => this.#follow(peer));
    this.#cancelBeat = clock.after(beatMs * clock.random(), () => this.#beat());
  }

  /** The strongest claim that this node knows. */
  get claim(): LeaderClaim | null {
    return this.#election.claim;
  }

  get isLeader(): boolean {
    return this.#election.isLeader;
  }

  /** The ids of the nodes of the group that are seen, this one first. */
  get members(): string[] {
    const { transport } = this.#options;
    return [transport.self.id, ...this.#others().map(({ id }) => id)];
  }

  close(): void {
    this.#cancelBeat();
    this.#unwatch();
    for (const cancel of this.#links.values()) cancel();
    this.#links.clear();
  }

  #beat(): void {
    const { transport, clock, claimed } = this.#options;
    const nowMs = clock.monotonic();
    const peers = transport.peers();
    const up = peers.filter(({ state }) => state === 'up').length;
    const linksUp = up / Math.max(1, peers.length);
    const stability = stabilityOf({ uptimeMs: nowMs - this.#startedMs, linksUp });
    const view = { nowMs, wallMs: clock.now(), stability, others: this.#others() };
    const made = this.#election.look(view);
    if (made !== null) claimed?.(made);
    const beat: Beat = { stability, claim: this.#election.claim };
    transport.publish(LEADER_TOPIC, new TextEncoder().encode(JSON.stringify(beat)));
    // Beats that all came at one moment would be a burst at the broker.
    this.#cancelBeat = clock.after(this.#beatMs * (0.9 + 0.2 * clock.random()), () => this.#beat());
  }

  #others(): { readonly id: string; readonly stability: number }[] {
    const { transport, clock } = this.#options;
    const sinceMs = clock.monotonic() - SEEN_BEATS * this.#beatMs;
    const others = [];
    for (const { address, id } of transport.peers()) {
      const seen = this.#seen.get(address);
      if (id !== null && seen !== undefined && seen.atMs >= sinceMs)
        others.push({ id, stability: seen.stability });
    }
    return others;
  }

  #follow({ address, state }: Peer): void {
    const cancel = this.#links.get(address);
    if (state === 'gone' || state === 'self') {
      cancel?.();
      this.#links.delete(address);
      this.#seen.delete(address);
      return;
    }
    if (cancel !== undefined) return;
    const { transport, clock } = this.#options;
    const subscription = {
      message: (bytes: Uint8Array) => {
        const beat = readBeat(bytes);
        if (beat === null) return;
        this.#seen.set(address, { stability: beat.stability, atMs: clock.monotonic() });
        if (beat.claim !== null) this.#election.hear(beat.claim);
      },
      open: () => {},
      closed: () => void this.#seen.delete(address),
    };
    this.#links.set(address, transport.subscribe(address, LEADER_TOPIC, subscription));
  }
}

/** A beat, or null if the bytes are not one. */
function readBeat(bytes: Uint8Array): Beat | null {
  if (bytes.length > MOST_BEAT_BYTES) return null;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { stability, claim } = value as Beat;
  if (!isClaim({ epoch: 0, leader: '', stability })) return null;
  if (claim === null) return { stability, claim };
  const { epoch, leader, stability: then } = claim ?? {};
  if (typeof leader !== 'string' || leader.length === 0 || leader.length > MOST_NAME) return null;
  const read = { epoch, leader, stability: then };
  return isClaim(read) ? { stability, claim: read } : null;
}
