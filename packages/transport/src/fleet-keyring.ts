/**
 * The secrets of its fleet that a node knows: one, or two while the operator changes it. Requests
 * are accepted under any of them. The first is the one that this node signs with, at neighbours
 * that accept it.
 *
 * An operator changes the secret of a running fleet in three steps, each on all nodes before the
 * next: the new secret is added behind the old one, the two change places, the old one is removed.
 * Nodes that are one step apart always have a secret in common, and each of them knows which.
 *
 * There are two at most, because each one costs every node another summary of all its objects. The
 * keys of a secret that stays are the same object after a change, so that parts of a node can
 * compare them.
 */

import type { Cancel } from './clock.ts';
import { type FleetKeys, fleetKeys } from './fleet-keys.ts';

const MOST_SECRETS = 2;

export class FleetKeyring {
  #keys: readonly FleetKeys[] = [];
  readonly #listeners = new Set<() => void>();

  /** The secrets in the order of preference, each at least 16 random bytes. */
  constructor(secrets: readonly Uint8Array[]) {
    this.change(secrets);
  }

  /** A keyring as it is, or one with this secret alone. */
  static of(secret: Uint8Array | FleetKeyring): FleetKeyring {
    return secret instanceof FleetKeyring ? secret : new FleetKeyring([secret]);
  }

  /** The keys of all secrets, in the order of preference. */
  get all(): readonly FleetKeys[] {
    return this.#keys;
  }

  get first(): FleetKeys {
    return this.#keys[0];
  }

  /** The keys of the secret with this id, or undefined if this node does not know it. */
  find(id: number | null): FleetKeys | undefined {
    return this.#keys.find((keys) => keys.id === id);
  }

  /**
   * Replaces all secrets, and tells the listeners if the list has changed. Throws if the list
   * cannot be used.
   */
  change(secrets: readonly Uint8Array[]): void {
    if (secrets.length === 0 || secrets.length > MOST_SECRETS)
      throw new RangeError(
        `Cannot take the secrets of a fleet: expected 1 to ${MOST_SECRETS}, got ${secrets.length}`,
      );
    const keys = secrets.map(fleetKeys).map((made) => this.find(made.id) ?? made);
    if (new Set(keys.map(({ id }) => id)).size < keys.length)
      throw new RangeError('Cannot take the secrets of a fleet: expected different ones, got one twice');
    const before = this.#keys;
    this.#keys = keys;
    if (keys.length === before.length && keys.every((each, i) => each === before[i])) return;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls the listener after each change of the secrets or of their order. */
  watch(listener: () => void): Cancel {
    // A function of its own, so that a listener which is passed twice is called twice.
    const entry = () => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }
}
