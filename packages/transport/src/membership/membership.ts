/**
 * The members of a fleet by all sources together. A member that two sources know counts once, under
 * the first of them, and has left when the last of them has dropped it. The order of the sources is
 * the order of their preference.
 *
 * It is a source itself, so a transport need not know how many there are.
 */

import type { Cancel } from '../clock.ts';
import { MemberList } from './member-list.ts';
import type { Member, MemberSource, MembershipChange } from './member-source.ts';

export class Membership implements MemberSource {
  readonly #list = new MemberList();
  readonly #cancels = new Map<MemberSource, Cancel>();
  #sources: readonly MemberSource[] = [];

  constructor(sources: readonly MemberSource[] = []) {
    this.use(sources);
  }

  /**
   * Takes other sources. One that is no longer among them is closed, and one that stays keeps its
   * members.
   */
  use(sources: readonly MemberSource[]): void {
    const before = this.#sources;
    this.#sources = sources;
    for (const source of before) if (!sources.includes(source)) this.#drop(source);
    for (const source of sources)
      if (!this.#cancels.has(source))
        this.#cancels.set(
          source,
          source.watch(() => this.#unite()),
        );
    this.#unite();
  }

  members(): readonly Member[] {
    return this.#list.all();
  }

  watch(listener: (change: MembershipChange) => void): Cancel {
    return this.#list.watch(listener);
  }

  close(): void {
    for (const source of this.#sources) this.#drop(source);
  }

  #unite(): void {
    this.#list.replace(this.#sources.flatMap((source) => source.members()));
  }

  #drop(source: MemberSource): void {
    this.#cancels.get(source)?.();
    this.#cancels.delete(source);
    source.close();
  }
}
