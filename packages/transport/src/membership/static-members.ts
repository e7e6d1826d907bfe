/** The members that the operator wrote down. A reload of the settings brings another list. */

import type { Cancel } from '../clock.ts';
import { MemberList } from './member-list.ts';
import type { Member, MemberSource, MembershipChange } from './member-source.ts';

const SOURCE = 'settings';

export class StaticMembers implements MemberSource {
  readonly #list = new MemberList();

  constructor(addresses: readonly string[]) {
    this.change(addresses);
  }

  /** Takes another list. */
  change(addresses: readonly string[]): void {
    this.#list.replace(addresses.map((address) => ({ address, name: null, source: SOURCE })));
  }

  members(): readonly Member[] {
    return this.#list.all();
  }

  watch(listener: (change: MembershipChange) => void): Cancel {
    return this.#list.watch(listener);
  }

  close(): void {}
}
