/**
 * One neighbour that is heard: whether it is there, by its beats, and which of its messages have
 * come, by their numbers.
 *
 *     down ──beat, greeting, answer──► up ──goodbye, three missed beats, no server──► down
 *
 * A beat alone does not bring a link up. The node greets its sender by a request, and the answer
 * does. We took beats at their word first: a machine that had stopped for some seconds, or a server
 * that still held bytes of a connection which its client had given up, then brought up links to
 * nodes that could not be reached.
 *
 * A message is missing if a later one comes, or if a beat names a higher number than the last one
 * that came. The subscriptions then hear `closed` and `open`, and catch up by a request, unless the
 * adapter repairs the gap (`repair`). This also covers messages that the server lost while it
 * restarted. The server does not tell their publisher.
 *
 * If two lives of a node are heard, or two nodes at one address, the one that was born later
 * counts, as long as it beats. So a node that restarts is taken at once, and two nodes that were
 * given one address by mistake do not take turns.
 */

import type { Cancel, Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { untilOffBeat } from '../link/common-beat.ts';
import { KeyChoice } from '../link/key-choice.ts';
import { LinkSubscriptions } from '../link/link-subscriptions.ts';
import type { PeerList } from '../link/peer-list.ts';
import type { Subscription } from '../transport.ts';
import type { Presence } from './presence.ts';

export interface PresenceLinkContext {
  readonly clock: Clock;
  readonly keyring: FleetKeyring;
  readonly peers: PeerList;
  /** The topics that reach this node now. */
  readonly topics: () => readonly string[];
  /** The state that a life of a node left on a topic, if it was found when this node joined. */
  readonly stateOf: (life: Life, topic: string, lastNumber: number) => Uint8Array | null;
  /**
   * Repairs the messages up to these numbers that have not come, and calls `missed` if it cannot.
   * Without it, the subscriptions close and open at once.
   */
  readonly repair?: ((link: PresenceLink, numbers: Presence['numbers']) => void) | undefined;
  /** Greets a node, and calls `answered` with its answer. Never rejects. */
  readonly greet: (link: PresenceLink, life: Life) => Promise<void>;
  /**
   * The neighbour has connected again. Requests that it was sent before may be lost, and would wait
   * for their deadline.
   */
  readonly hailed?: ((link: PresenceLink) => void) | undefined;
  /** The link went down: requests to the neighbour have no answer to wait for. */
  readonly down: (link: PresenceLink) => void;
}

/** One run of a node. */
export interface Life {
  readonly node: string;
  readonly life: string;
}

const MISSED_HEARTBEATS = 3;

export class PresenceLink {
  readonly address: string;
  readonly #context: PresenceLinkContext;
  readonly #choice: KeyChoice;
  readonly #subscriptions = new LinkSubscriptions();
  /** The numbers of the last messages by topic. */
  #numbers = new Map<string, number>();
  #current: (Life & Pick<Presence, 'born' | 'group'>) | null = null;
  #heartbeatMs = 0;
  #isUp = false;
  #downAt: number;
  #hasHeard = false;
  #greetings = 0;
  #stopTimer: Cancel = () => {};

  constructor(address: string, context: PresenceLinkContext) {
    this.address = address;
    this.#context = context;
    this.#downAt = context.clock.monotonic();
    this.#choice = new KeyChoice(context.keyring);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Time since the link went down or was made, by the monotonic clock; 0 while it is up. */
  get downMs(): number {
    return this.#isUp ? 0 : this.#context.clock.monotonic() - this.#downAt;
  }

  /** The node that was last heard here, or null before the first time. */
  get current(): Life | null {
    return this.#current;
  }

  /** The keys that sign requests to this neighbour. */
  get keys(): FleetKeys {
    return this.#choice.keys;
  }

  subscribe(topic: string, on: Subscription): Cancel {
    const cancel = this.#subscriptions.add(topic, on);
    this.#context.clock.after(0, () => this.openTopics());
    return cancel;
  }

  /** Opens the subscriptions to all topics that reach this node now, if the link is up. */
  openTopics(): void {
    if (this.#isUp) this.#open();
  }

  /** A beat has come, signed by `keys`. It may be late, so it brings no link up. */
  beat(life: Life, presence: Presence, keys: FleetKeys): void {
    const isCurrent = this.#isUp && this.#current?.life === life.life;
    if (presence.leaving) {
      if (isCurrent) this.down('it is shutting down');
      return;
    }
    if (presence.hail) this.#context.hailed?.(this);
    if (!isCurrent || presence.hail) this.#greet(life, presence, keys);
    if (!isCurrent) return;
    this.#hasHeard = true;
    this.#subscriptions.heard();
    this.#choice.accept(keys, presence.keys);
    this.#tellUp();
    if (!this.#misses(presence)) return;
    const { repair } = this.#context;
    if (repair === undefined) this.#reopen(presence.numbers);
    else repair(this, presence.numbers);
  }

  /** The neighbour has answered a greeting, so it can be reached now. */
  answered(life: Life, presence: Presence, keys: FleetKeys): void {
    if (this.#isUp && this.#current?.life === life.life) {
      this.beat(life, presence, keys);
      return;
    }
    if (presence.leaving || this.#isOlder(presence)) return;
    if (this.#isUp) this.down('restarted');
    this.#current = { ...life, born: presence.born, group: presence.group };
    this.#heartbeatMs = presence.heartbeatMs;
    this.#choice.accept(keys, presence.keys);
    this.#isUp = true;
    this.#watchBeats(0);
    this.#numbers = new Map(Object.entries(presence.numbers));
    this.#tellUp();
    this.#open();
  }

  /** A message of the current life has come. */
  message(topic: string, number: number, bytes: Uint8Array): void {
    if (!this.#isUp) return;
    this.#hasHeard = true;
    const last = this.#numbers.get(topic) ?? 0;
    if (number <= last) return;
    this.#numbers.set(topic, number);
    if (number > last + 1 && this.#subscriptions.has(topic)) {
      this.#subscriptions.closed('missed a message');
      this.#open();
    }
    this.#subscriptions.message(topic, bytes);
  }

  /** Whether there are subscriptions to a topic. */
  listensTo(topic: string): boolean {
    return this.#subscriptions.has(topic);
  }

  /** The number of the last message on a topic that has come or was given up. */
  lastNumber(topic: string): number {
    return this.#numbers.get(topic) ?? 0;
  }

  /** Messages on a topic up to this number will not come. */
  missed(topic: string, number: number): void {
    if (this.#isUp && number > this.lastNumber(topic))
      this.#reopen({ ...Object.fromEntries(this.#numbers), [topic]: number });
  }

  /** A part of a message has come: 8 MB may take longer than three beats. */
  heard(): void {
    this.#hasHeard = true;
  }

  /** The secrets of this node have changed. */
  keyringChanged(): void {
    this.#choice.keyringChanged();
    if (this.#isUp) this.#tellUp();
  }

  /** The neighbour cannot be used, and the operator is told why. A link that is up stays up. */
  refuse(why: string): void {
    if (!this.#isUp) this.#context.peers.set(this.address, { state: 'down', why });
  }

  down(why: string): void {
    this.#stopTimer();
    const { peers, down } = this.#context;
    peers.set(this.address, { state: 'down', why });
    if (!this.#isUp) return;
    this.#isUp = false;
    this.#downAt = this.#context.clock.monotonic();
    this.#subscriptions.closed(why);
    down(this);
  }

  /** Ends the link with its transport. */
  close(): void {
    this.#isUp = false;
    this.#stopTimer();
    this.#subscriptions.closed('closed');
  }

  #greet(life: Life, presence: Presence, keys: FleetKeys): void {
    // A node that hails has just connected, and may never answer an earlier greeting. So it is
    // greeted again.
    if ((this.#greetings > 0 && !presence.hail) || this.#isOlder(presence)) return;
    // The keys of a node that is known stay until it has answered.
    if (!this.#isUp) this.#choice.accept(keys, presence.keys);
    this.#greetings++;
    void this.#context.greet(this, life).finally(() => {
      this.#greetings--;
    });
  }

  /** Whether a node that was born later is heard at this address. */
  #isOlder({ born }: Presence): boolean {
    return this.#isUp && born < this.#current!.born;
  }

  #tellUp(): void {
    const { peers } = this.#context;
    peers.set(this.address, {
      state: 'up',
      why: null,
      id: this.#current!.node,
      keys: this.#choice.common,
      group: this.#current!.group,
    });
  }

  #open(): void {
    const { topics, stateOf } = this.#context;
    this.#subscriptions.open(topics(), (topic) =>
      stateOf(this.#current!, topic, this.#numbers.get(topic) ?? 0),
    );
  }

  #misses({ numbers }: Presence): boolean {
    return this.#subscriptions
      .topics()
      .some((topic) => (numbers[topic] ?? 0) > (this.#numbers.get(topic) ?? 0));
  }

  #reopen(numbers: Presence['numbers']): void {
    this.#numbers = new Map(Object.entries(numbers));
    this.#subscriptions.closed('missed a message');
    this.#open();
  }

  /**
   * A timer counts beats instead of comparing times: a process that was stopped for a minute finds
   * the beats of that minute waiting, and must not take its own pause for silence.
   */
  #watchBeats(missed: number): void {
    this.#hasHeard = false;
    const { clock } = this.#context;
    this.#stopTimer = clock.after(untilOffBeat(clock, this.#heartbeatMs), () => {
      if (this.#hasHeard) this.#watchBeats(0);
      else if (missed + 1 < MISSED_HEARTBEATS) this.#watchBeats(missed + 1);
      else this.down('silent');
    });
  }
}
