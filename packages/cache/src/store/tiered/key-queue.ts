/**
 * Serialises tasks per key: tasks of one key run in the order in which they came, tasks of
 * different keys run concurrently. A store of two tiers changes its disk through this queue, so
 * that a removal never overtakes the write that it must undo.
 */
export class KeyQueue {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #counts = new Map<string, number>();

  /** Runs a task when the earlier tasks of this key are done, whether they succeeded or not. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    this.#counts.set(key, this.waiting(key) + 1);
    const done = (this.#last.get(key) ?? Promise.resolve()).then(task, task);
    // The caller of `run` gets the failure; the chain continues.
    const settled = done.then(
      () => this.#leave(key),
      () => this.#leave(key),
    );
    this.#last.set(key, settled);
    return done;
  }

  /** Number of tasks of a key that are running or waiting. */
  waiting(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Resolves when no task is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }

  #leave(key: string): void {
    const left = this.waiting(key) - 1;
    if (left > 0) {
      this.#counts.set(key, left);
      return;
    }
    this.#counts.delete(key);
    this.#last.delete(key);
  }
}
