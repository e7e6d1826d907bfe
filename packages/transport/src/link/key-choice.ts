/**
 * The choice of the secret that signs requests to one neighbour: the first of the own keyring that
 * the neighbour accepts. A hello names the secrets that its sender accepts. Before the first hello
 * the secrets are tried in their order, and one that was refused is left out until the neighbour
 * names other ones, until the keyring changes, or until all were refused.
 *
 * A refusal is not signed, so an attacker between two nodes can make one of them use its second
 * secret. That secret is accepted by the fleet anyway, for as long as it is in the keyring.
 */

import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';

export class KeyChoice {
  readonly #keyring: FleetKeyring;
  /** The ids that the neighbour named, or null before its first hello. */
  #accepted: readonly number[] | null = null;
  readonly #refused = new Set<number>();

  constructor(keyring: FleetKeyring) {
    this.#keyring = keyring;
  }

  /** The keys that sign now. */
  get keys(): FleetKeys {
    const { all, first } = this.#keyring;
    const left = all.filter(({ id }) => !this.#refused.has(id));
    return left.find(({ id }) => this.#accepted?.includes(id)) ?? left[0] ?? first;
  }

  /** The ids of all secrets that both accept, the one that signs first. Empty if it is unknown. */
  get common(): readonly number[] {
    const ids = this.#keyring.all.map(({ id }) => id).filter((id) => this.#accepted?.includes(id));
    const { id: own } = this.keys;
    return ids.includes(own) ? [own, ...ids.filter((id) => id !== own)] : ids;
  }

  /** The neighbour has accepted these keys, and named ids in its hello; none if it has no list. */
  accept(keys: FleetKeys, named: readonly number[]): void {
    const accepted = named.length === 0 ? [keys.id] : named;
    if (accepted.join() !== this.#accepted?.join()) this.#refused.clear();
    this.#refused.delete(keys.id);
    this.#accepted = accepted;
  }

  /** The neighbour has refused these keys. Returns true if others can be tried at once. */
  refuse({ id }: FleetKeys): boolean {
    this.#refused.add(id);
    if (this.#keyring.all.some((keys) => !this.#refused.has(keys.id))) return true;
    this.#refused.clear();
    this.#accepted = null;
    return false;
  }

  /** The keyring has changed. */
  keyringChanged(): void {
    this.#refused.clear();
  }
}
