/**
 * Turns for answers with blocks: a few at a time, because a block that is sent with the whole
 * bandwidth can be passed on sooner than eight that share it. Requests beyond the queue are
 * refused.
 */
export class UploadTurns {
  readonly #atOnce: number;
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number, most: number) {
    this.#atOnce = atOnce;
    this.#most = most;
  }

  /** Waits for a turn. Returns false at once if too many wait already. */
  async take(): Promise<boolean> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#most) return false;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      return true;
    }
    this.#running++;
    return true;
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
