/**
 * The sender of a TCP connection, as far as a queue notices it: how many packets are under way, and
 * how it answers losses and marks. It is TCP Reno with selective acknowledgements (RFC 5681),
 * losses by the order of transmission (RFC 8985), timeouts (RFC 6298) and ECN (RFC 3168), counted
 * in packets of equal length:
 *
 * - A window of 10 at the start (RFC 6928), doubled every round trip, then one more per round trip.
 * - A packet counts as lost when the third transmission after it, or a later one, has arrived. So a
 *   retransmission that is lost is noticed as well. The window is halved once per round trip,
 *   whatever the number of losses and marks in it.
 * - A timeout after the smoothed round trip and four times its variation, at least 200 ms as in
 *   Linux (RFC 6298 asks for a second), doubled each time. All packets under way count as lost.
 *
 * Left out: the receiver's window and its delayed acknowledgements (each packet is acknowledged),
 * losses of acknowledgements, the start of the connection, and all that is newer than Reno, such as
 * CUBIC. Real TCP is in bench/queues and in test/queues.
 *
 * It has no clock and no queue. `nextPacket` says what to send, until it says null.
 */

/** A packet to send. */
export interface Segment {
  readonly sequence: number;
  /** Number of the transmission, which the acknowledgement brings back. */
  readonly transmission: number;
  readonly isRetransmission: boolean;
}

/** States of a packet; a number of at least 0 is the transmission that is under way. */
const [ARRIVED, LOST] = [-1, -2];
/** The most packets under way: a power of two. */
const ROOM = 4096;
const FIRST_WINDOW = 10;
const REORDERING = 3;
const LEAST_TIMEOUT_MS = 200;
const MOST_TIMEOUT_MS = 60_000;

export class TcpSender {
  /** State of a packet by its sequence number. */
  readonly #states = new Float64Array(ROOM);
  /** Sequence number and time of a transmission. */
  readonly #sequences = new Float64Array(2 * ROOM);
  readonly #sentMs = new Float64Array(2 * ROOM);
  /** The first packet that has not arrived, and the first that was never sent. */
  #first = 0;
  #next = 0;
  /** The number of transmissions so far, and the first of them that is not judged yet. */
  #transmissions = 0;
  #judged = 0;
  /** Packets under way. */
  #flying = 0;
  #lost: number[] = [];
  /** The window is not halved again by a transmission before this one. */
  #recovery = 0;
  #window = FIRST_WINDOW;
  #threshold = Infinity;
  #smoothedMs = 0;
  #variationMs = 0;
  #backOff = 1;
  #deadlineMs = Infinity;
  #halvings = 0;
  #timeouts = 0;

  /** Packets that may be under way. */
  get window(): number {
    return this.#window;
  }

  get flying(): number {
    return this.#flying;
  }

  /** Number of times the window was halved because of a loss or a mark. */
  get halvings(): number {
    return this.#halvings;
  }

  get timeouts(): number {
    return this.#timeouts;
  }

  /** Packets that have arrived in order. */
  get delivered(): number {
    return this.#first;
  }

  /** The time at which `timeOut` is to be called, or Infinity. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** The packet to send now, or null if the window is full. */
  nextPacket(nowMs: number): Segment | null {
    if (this.#flying >= Math.floor(this.#window) || this.#next - this.#first >= ROOM) return null;
    if (this.#transmissions - this.#judged >= 2 * ROOM) return null;
    const lost = this.#lost.shift();
    const sequence = lost ?? this.#next++;
    const transmission = this.#transmissions++;
    this.#states[sequence & (ROOM - 1)] = transmission;
    this.#sequences[transmission & (2 * ROOM - 1)] = sequence;
    this.#sentMs[transmission & (2 * ROOM - 1)] = nowMs;
    this.#flying++;
    if (this.#deadlineMs === Infinity) this.#restart(nowMs);
    return { sequence, transmission, isRetransmission: lost !== undefined };
  }

  /** Takes the acknowledgement of a packet, and whether the packet was marked. */
  acknowledge(
    { sequence, transmission }: Pick<Segment, 'sequence' | 'transmission'>,
    isMarked: boolean,
    nowMs: number,
  ): void {
    if (transmission >= this.#judged) this.#measure(nowMs - this.#sentMs[transmission & (2 * ROOM - 1)]);
    const state = this.#states[sequence & (ROOM - 1)];
    if (sequence >= this.#first && state !== ARRIVED) {
      if (state === LOST) this.#lost = this.#lost.filter((one) => one !== sequence);
      else this.#flying--;
      this.#states[sequence & (ROOM - 1)] = ARRIVED;
      while (this.#first < this.#next && this.#states[this.#first & (ROOM - 1)] === ARRIVED) this.#first++;
    }
    this.#backOff = 1;
    this.#restart(nowMs);
    this.#judge(transmission, isMarked);
  }

  /** Declares all packets under way lost, because none was acknowledged in time. */
  timeOut(nowMs: number): void {
    this.#timeouts++;
    this.#threshold = Math.max(2, this.#window / 2);
    this.#window = 1;
    this.#flying = 0;
    this.#lost = [];
    for (let sequence = this.#first; sequence < this.#next; sequence++) {
      if (this.#states[sequence & (ROOM - 1)] === ARRIVED) continue;
      this.#states[sequence & (ROOM - 1)] = LOST;
      this.#lost.push(sequence);
    }
    this.#judged = this.#transmissions;
    this.#recovery = this.#transmissions;
    this.#backOff *= 2;
    this.#restart(nowMs);
  }

  /** Finds losses before a transmission that has arrived, and moves the window. */
  #judge(arrived: number, isMarked: boolean): void {
    let worst = isMarked ? arrived : -1;
    for (; this.#judged <= arrived - REORDERING; this.#judged++) {
      const sequence = this.#sequences[this.#judged & (2 * ROOM - 1)];
      // It arrived, or was transmitted again since.
      if (sequence < this.#first || this.#states[sequence & (ROOM - 1)] !== this.#judged) continue;
      this.#states[sequence & (ROOM - 1)] = LOST;
      this.#lost.push(sequence);
      this.#flying--;
      worst = this.#judged;
    }
    if (worst >= this.#recovery) {
      this.#halvings++;
      this.#threshold = Math.max(2, this.#window / 2);
      this.#window = this.#threshold;
      this.#recovery = this.#transmissions;
    } else if (this.#window < this.#threshold) {
      this.#window += 1;
    } else if (arrived >= this.#recovery) {
      this.#window += 1 / this.#window;
    }
  }

  #measure(sampleMs: number): void {
    if (this.#smoothedMs === 0) {
      this.#smoothedMs = sampleMs;
      this.#variationMs = sampleMs / 2;
      return;
    }
    this.#variationMs += (Math.abs(this.#smoothedMs - sampleMs) - this.#variationMs) / 4;
    this.#smoothedMs += (sampleMs - this.#smoothedMs) / 8;
  }

  #restart(nowMs: number): void {
    const timeoutMs =
      this.#smoothedMs === 0 ? 1000 : Math.max(LEAST_TIMEOUT_MS, this.#smoothedMs + 4 * this.#variationMs);
    const isQuiet = this.#flying === 0 && this.#lost.length === 0;
    this.#deadlineMs = isQuiet ? Infinity : nowMs + Math.min(MOST_TIMEOUT_MS, timeoutMs * this.#backOff);
  }
}
