/**
 * The adds of one process that may still get lost, in batches of up to 1000 hashes.
 *
 * A batch waits, is sent, is acknowledged by the server, and is confirmed when the replicas have
 * it. Redis acknowledges before it replicates, so an acknowledged add can be lost by a failover. A
 * process therefore keeps its batches until they are confirmed, and sends them again when it meets
 * a server other than the one that acknowledged them. Sending twice is harmless: adding a key again
 * changes nothing.
 *
 * Confirmed means: every connected replica has read the replication stream up to a point after the
 * batch. Without replicas a batch is kept for `keepMs`, which covers an append-only file that is
 * written to disk every second. The list is bounded: past `most` hashes the oldest acknowledged
 * batches go. They are still in the filter of this process, which is compared with the server's
 * after a failover.
 */

/** The log and the server that acknowledged a batch. */
export interface LogPlace {
  readonly lineage: string;
  readonly epoch: number;
  /** The first epoch whose keys are all in this one. */
  readonly base: number;
  readonly server: string;
}

export interface AddBatch<Ticket> {
  readonly words: Int32Array;
  /** A value of the caller's that is returned with the batch. */
  readonly ticket: Ticket;
}

export interface ReplicationState {
  readonly offset: number;
  readonly replicaOffsets: readonly number[];
  /** The time at which the question for these offsets was sent. */
  readonly sentMs: number;
}

export interface UnconfirmedLimits {
  /** The most hashes that are kept after they were acknowledged. */
  readonly most: number;
  /** Time that an acknowledged batch is kept where there is no replica. */
  readonly keepMs: number;
}

interface Kept<Ticket> extends AddBatch<Ticket> {
  state: 'waiting' | 'sent' | 'acknowledged';
  place: LogPlace | null;
  ackedMs: number;
  /** The offset of replication by which the batch was written. */
  offset: number | null;
  wasAcknowledged: boolean;
}

export class UnconfirmedAdds<Ticket> {
  readonly #limits: UnconfirmedLimits;
  /** Acknowledged batches, oldest first. */
  #kept: Kept<Ticket>[] = [];
  readonly #sent = new Set<Kept<Ticket>>();
  #waiting: Kept<Ticket>[] = [];
  #waitingFrom = 0;
  #keptHashes = 0;
  #newHashes = 0;
  #resent = 0;

  constructor(limits: UnconfirmedLimits) {
    this.#limits = limits;
  }

  /** Hashes that were never acknowledged. */
  get pendingHashes(): number {
    return this.#newHashes;
  }

  /** Hashes that were acknowledged and may still get lost. */
  get unconfirmedHashes(): number {
    return this.#keptHashes;
  }

  /** Hashes that were sent to a second server. */
  get resentHashes(): number {
    return this.#resent;
  }

  /** Whether a batch that another server or log acknowledged is still to be sent to this one. */
  get isResending(): boolean {
    if ([...this.#sent].some(({ wasAcknowledged }) => wasAcknowledged)) return true;
    return this.#waiting.some(({ wasAcknowledged }, i) => i >= this.#waitingFrom && wasAcknowledged);
  }

  get isIdle(): boolean {
    return this.#waitingFrom === this.#waiting.length && this.#sent.size === 0;
  }

  push(batch: AddBatch<Ticket>): void {
    this.#newHashes += batch.words.length / 2;
    this.#waiting.push({
      ...batch,
      state: 'waiting',
      place: null,
      ackedMs: 0,
      offset: null,
      wasAcknowledged: false,
    });
  }

  /** The next batch to send, or null. */
  next(): AddBatch<Ticket> | null {
    if (this.#waitingFrom === this.#waiting.length) return null;
    const batch = this.#waiting[this.#waitingFrom++];
    if (this.#waitingFrom === this.#waiting.length || this.#waitingFrom > 1024) {
      this.#waiting = this.#waiting.slice(this.#waitingFrom);
      this.#waitingFrom = 0;
    }
    batch.state = 'sent';
    this.#sent.add(batch);
    return batch;
  }

  /** Takes the server's answer. Returns true if it is the first one for this batch. */
  acknowledge(batch: AddBatch<Ticket>, place: LogPlace, nowMs: number): boolean {
    const kept = batch as Kept<Ticket>;
    if (!this.#sent.delete(kept)) return false;
    const isFirst = !kept.wasAcknowledged;
    const hashes = kept.words.length / 2;
    if (isFirst) this.#newHashes -= hashes;
    kept.state = 'acknowledged';
    kept.wasAcknowledged = true;
    kept.place = place;
    kept.ackedMs = nowMs;
    kept.offset = null;
    this.#kept.push(kept);
    this.#keptHashes += hashes;
    let excess = 0;
    while (this.#keptHashes > this.#limits.most && excess < this.#kept.length) {
      this.#keptHashes -= this.#kept[excess++].words.length / 2;
    }
    if (excess > 0) this.#kept.splice(0, excess);
    return isFirst;
  }

  /** Puts one batch back: the log to which it was sent is gone. */
  refuse(batch: AddBatch<Ticket>): void {
    const kept = batch as Kept<Ticket>;
    if (this.#sent.delete(kept)) this.#putBack([kept]);
  }

  /** Puts back all batches that were sent and not answered: the connection broke. */
  disconnect(): void {
    this.#putBack([...this.#sent]);
    this.#sent.clear();
  }

  /**
   * Meets a server, which may be a new one. Batches that another server or another log
   * acknowledged wait again, unless the filter was rebuilt since: a rebuilt filter contains them or
   * left them out on purpose.
   */
  connect(place: LogPlace): void {
    const again: Kept<Ticket>[] = [];
    const rest: Kept<Ticket>[] = [];
    for (const batch of this.#kept) {
      const { lineage, epoch, server } = batch.place as LogPlace;
      const isSameLog = lineage === place.lineage && epoch === place.epoch && server === place.server;
      if (isSameLog) rest.push(batch);
      else if (lineage !== place.lineage || epoch >= place.base) again.push(batch);
    }
    this.#kept = rest;
    this.#keptHashes = hashesIn(rest);
    this.#resent += hashesIn(again);
    this.#putBack(again);
  }

  /** Drops batches that the replicas have. Without replicas, drops batches that are old enough. */
  observe({ offset, replicaOffsets, sentMs }: ReplicationState): void {
    const least = replicaOffsets.length === 0 ? null : Math.min(...replicaOffsets);
    const rest = this.#kept.filter((batch) => {
      if (batch.ackedMs >= sentMs) return true;
      batch.offset ??= offset;
      return least === null ? sentMs - batch.ackedMs < this.#limits.keepMs : least < batch.offset;
    });
    if (rest.length === this.#kept.length) return;
    this.#kept = rest;
    this.#keptHashes = hashesIn(rest);
  }

  /** All hashes that are in no confirmed batch, for a filter that is loaded again. */
  *unconfirmed(): IterableIterator<Int32Array> {
    for (const { words } of this.#kept) yield words;
    for (const { words } of this.#sent) yield words;
    for (let i = this.#waitingFrom; i < this.#waiting.length; i++) yield this.#waiting[i].words;
  }

  /** The same without batches that a log acknowledged, for a filter that was rebuilt. */
  *neverAcknowledged(): IterableIterator<Int32Array> {
    for (const { words, wasAcknowledged } of this.#sent) if (!wasAcknowledged) yield words;
    for (let i = this.#waitingFrom; i < this.#waiting.length; i++)
      if (!this.#waiting[i].wasAcknowledged) yield this.#waiting[i].words;
  }

  /** Tickets of batches that were never acknowledged. */
  *pendingTickets(): IterableIterator<Ticket> {
    for (const { ticket, wasAcknowledged } of this.#sent) if (!wasAcknowledged) yield ticket;
    for (let i = this.#waitingFrom; i < this.#waiting.length; i++)
      if (!this.#waiting[i].wasAcknowledged) yield this.#waiting[i].ticket;
  }

  #putBack(batches: readonly Kept<Ticket>[]): void {
    for (const batch of batches) batch.state = 'waiting';
    this.#waiting = [...batches, ...this.#waiting.slice(this.#waitingFrom)];
    this.#waitingFrom = 0;
  }
}

function hashesIn(batches: readonly { readonly words: Int32Array }[]): number {
  return batches.reduce((sum, { words }) => sum + words.length / 2, 0);
}
