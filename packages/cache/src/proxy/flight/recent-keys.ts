/**
 * A bounded number of keys with a value each. The key that was set longest ago goes first. It is
 * for facts that may be forgotten: which keys vary, which owner was asked about a key.
 */

export class RecentKeys<Value> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    if (this.#values.size >= this.#most) {
      for (const oldest of this.#values.keys()) {
        this.#values.delete(oldest);
        break;
      }
    }
    this.#values.set(key, value);
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
