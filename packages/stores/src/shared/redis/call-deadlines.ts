/**
 * Deadlines of the calls on one connection, with one timer for all of them.
 *
 * A reader asks up to a hundred times a second, each time with another deadline some seconds away,
 * and nearly always gets its answer long before. A timer per call would be set and cleared each
 * time. This one is left to run out. It then finds the calls that are late, and is set for the
 * earliest of the others.
 */

/** Time in which an answer that has already come is read. */
const READ_FIRST_MS = 20;

export interface Deadline {
  readonly endMs: number;
  readonly giveUp: (isLate: boolean) => void;
}

export class CallDeadlines {
  readonly #open = new Set<Deadline>();
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Number.POSITIVE_INFINITY;

  /** Calls `giveUp` after `ms`, or when the connection is closed, unless `end` comes first. */
  begin(ms: number, giveUp: (isLate: boolean) => void): Deadline {
    const deadline = { endMs: performance.now() + ms, giveUp };
    this.#open.add(deadline);
    if (deadline.endMs < this.#dueMs) this.#set(deadline.endMs);
    return deadline;
  }

  end(deadline: Deadline): void {
    this.#open.delete(deadline);
  }

  /** Gives up all calls and stops the timer. */
  close(): void {
    clearTimeout(this.#timer);
    this.#dueMs = Number.NEGATIVE_INFINITY;
    this.#giveUp(Number.POSITIVE_INFINITY);
  }

  #set(endMs: number): void {
    clearTimeout(this.#timer);
    this.#dueMs = endMs;
    this.#timer = setTimeout(() => this.#ranOut(), Math.max(0, endMs - performance.now()));
  }

  #ranOut(): void {
    const nowMs = performance.now();
    if (this.#earliest() > nowMs) {
      this.#next();
      return;
    }
    // If this process was stopped itself, the answer may be here already. It is read first.
    this.#timer = setTimeout(() => {
      this.#giveUp(nowMs);
      this.#next();
    }, READ_FIRST_MS);
  }

  #giveUp(untilMs: number): void {
    for (const deadline of [...this.#open]) {
      if (deadline.endMs > untilMs || !this.#open.delete(deadline)) continue;
      deadline.giveUp(untilMs !== Number.POSITIVE_INFINITY);
    }
  }

  #next(): void {
    if (this.#dueMs === Number.NEGATIVE_INFINITY) return; // closed meanwhile
    this.#dueMs = Number.POSITIVE_INFINITY;
    const earliest = this.#earliest();
    if (earliest !== Number.POSITIVE_INFINITY) this.#set(earliest);
  }

  #earliest(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { endMs } of this.#open) earliest = Math.min(earliest, endMs);
    return earliest;
  }
}
