/**
 * One thing after the other for each key: tasks of one key run in the order in which they came, tasks of different keys at the same time.
 * A store of two tiers changes its disk under this, so that a removal never overtakes the writing that it must undo.
 */
export class KeyQueue {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #counts = new Map<string, number>();

  /** Runs a task when those before it for this key are done, whether they succeeded or not. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    this.#counts.set(key, this.waiting(key) + 1);
    const done = (this.#last.get(key) ?? Promise.resolve()).then(task, task);
    // What fails is told to the caller of `run`; the chain goes on.
    const settled = done.then(
      () => this.#leave(key),
      () => this.#leave(key),
    );
    this.#last.set(key, settled);
    return done;
  }

  /** Tasks of a key that are running or waiting. */
  waiting(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** When no task is left. */
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
