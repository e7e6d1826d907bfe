/**
 * The session of one member with one owner of its keys, message by message. One message is under
 * way at a time, and changes that come meanwhile go into the next one. After a failure the same
 * changes go again, and if the owner does not know the message before, its answer asks for the
 * state.
 */

import type { Cancel, Clock } from '@bloomery/transport';
import type { KeyHash } from 'bloomery';
import { hashName } from '../decisions/route-table.ts';
import type { HashBits } from '../wire/message-bytes.ts';
import { readTaken, writeRegistration } from '../wire/owner-message.ts';

export interface OwnerSessionOptions {
  readonly boot: number;
  readonly clock: Clock;
  readonly send: (body: Uint8Array) => Promise<Uint8Array>;
}

export class OwnerSession {
  readonly #options: OwnerSessionOptions;
  /** All keys of the owner, as they are now. */
  readonly #keys = new Map<string, KeyHash>();
  /** Changes that the owner has not confirmed: true for an addition. */
  readonly #changes = new Map<string, { readonly hash: KeyHash; readonly isThere: boolean }>();
  #view: HashBits = { high: 0, low: 0 };
  #number = 0;
  #needsState = true;
  /** The edition of the last beginning: a state from before it is not the one that is needed. */
  #begun = 0;
  #isSending = false;
  #isClosed = false;
  /** Rises with each change, so that a confirmation says which of them it covers. */
  #edition = 0;
  #confirmed = -1;
  readonly #waiting = new Set<{ readonly edition: number; readonly settle: (isSettled: boolean) => void }>();

  constructor(options: OwnerSessionOptions) {
    this.#options = options;
  }

  /** Begins again with all keys, under another view. */
  begin(view: HashBits, keys: readonly KeyHash[]): void {
    this.#view = view;
    this.#keys.clear();
    for (const key of keys) this.#keys.set(hashName(key), key);
    this.#changes.clear();
    this.#needsState = true;
    this.#begun = ++this.#edition;
    void this.#send();
  }

  note(hash: KeyHash, isThere: boolean): void {
    const name = hashName(hash);
    if (isThere) this.#keys.set(name, hash);
    else this.#keys.delete(name);
    this.#changes.set(name, { hash, isThere });
    this.#edition++;
    void this.#send();
  }

  /** Says again that there is nothing else, or what could not be said before. */
  beat(): void {
    void this.#send(true);
  }

  /** Resolves with true when the owner has confirmed everything up to now, or false in time. */
  settled(timeoutMs: number): Promise<boolean> {
    if (this.#confirmed >= this.#edition) return Promise.resolve(true);
    return new Promise((resolve) => {
      let cancel: Cancel = () => {};
      const settle = (isSettled: boolean) => {
        cancel();
        this.#waiting.delete(waiting);
        resolve(isSettled);
      };
      const waiting = { edition: this.#edition, settle };
      this.#waiting.add(waiting);
      cancel = this.#options.clock.after(timeoutMs, () => settle(false));
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const { settle } of [...this.#waiting]) settle(false);
  }

  async #send(isBeat = false): Promise<void> {
    if (this.#isSending || this.#isClosed) return;
    if (!isBeat && this.#confirmed >= this.#edition) return;
    this.#isSending = true;
    const [edition, isState] = [this.#edition, this.#needsState];
    const sent = [...this.#changes];
    const changes = sent.map(([, change]) => change);
    let isTaken = false;
    let hasFailed = false;
    try {
      const hasNews = isState || changes.length > 0;
      const base = this.#number;
      if (hasNews) this.#number++;
      const body = writeRegistration({
        kind: isState ? 'state' : 'changes',
        boot: this.#options.boot,
        base,
        number: this.#number,
        view: this.#view,
        added: isState ? [...this.#keys.values()] : hashesOf(changes, true),
        removed: isState ? [] : hashesOf(changes, false),
      });
      isTaken = readTaken(await this.#options.send(body));
    } catch {
      hasFailed = true;
    }
    this.#isSending = false;
    if (this.#isClosed) return;
    // The owner may or may not have taken a message whose answer is lost, so the state follows.
    if (hasFailed || !isTaken) this.#needsState = true;
    if (hasFailed) return;
    if (isTaken) {
      if (isState && edition >= this.#begun) this.#needsState = false;
      for (const [name, change] of sent) if (this.#changes.get(name) === change) this.#changes.delete(name);
      if (edition > this.#confirmed) this.#confirmed = edition;
      for (const waiting of [...this.#waiting]) if (waiting.edition <= edition) waiting.settle(true);
    }
    // A refusal asks for the state. If that is refused, by an owner with another list of members,
    // it goes again with the next beat.
    const goesOn = isTaken ? this.#confirmed < this.#edition : !isState;
    if (goesOn) void this.#send(true);
  }
}

function hashesOf(
  changes: readonly { readonly hash: KeyHash; readonly isThere: boolean }[],
  isThere: boolean,
): KeyHash[] {
  return changes.filter((change) => change.isThere === isThere).map(({ hash }) => hash);
}
