/** Waiting that ends early: by `poke`, or when the member is closed. */

export class Pause {
  #wake: (() => void) | null = null;
  #isPoked = false;

  /** Waits for a time, or until the next `poke`. A poke that came before counts. */
  async wait(ms: number): Promise<void> {
    if (!this.#isPoked) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = null;
    this.#isPoked = false;
  }

  poke(): void {
    this.#isPoked = true;
    this.#wake?.();
  }
}
