/** A whole file as the server of blocks hands it out. It never changes, so its followers wait. */

import { randomBytes } from 'node:crypto';
import type { Cancel } from '@bloomery/transport';
import type { BlockSet } from '../decisions/block-set.ts';
import type { FileShape } from '../decisions/file-shape.ts';
import type { WholeFile } from '../store/whole-file.ts';
import type { HashList } from '../wire/hash-list.ts';
import type { SharedFile } from './shared-file.ts';

const MOST_ADDRESSES = 256;

export class SeededFile implements SharedFile {
  readonly node = randomBytes(16).toString('hex');
  readonly isComplete = true;
  readonly asksOrigin = false;
  readonly fetching: readonly number[] = [];
  readonly #file: WholeFile;
  readonly #watchers = new Set<() => void>();
  /** The nodes that followed last. New ones push out the oldest. */
  readonly #followers = new Set<string>();

  constructor(file: WholeFile) {
    this.#file = file;
  }

  get digest(): string {
    return this.#file.digest;
  }

  get shape(): FileShape {
    return this.#file.shape;
  }

  get has(): BlockSet {
    return this.#file.has;
  }

  get list(): HashList {
    return this.#file.list;
  }

  get others(): readonly string[] {
    return [...this.#followers].reverse();
  }

  hashOf(block: number): { hash: Uint8Array; isFirstHand: boolean } {
    return { hash: this.list.hashOf(block), isFirstHand: false };
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return this.#file.read(offset, length);
  }

  watch(changed: () => void): Cancel {
    const watcher = () => changed();
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  follower(address: string): void {
    this.#followers.delete(address);
    this.#followers.add(address);
    if (this.#followers.size > MOST_ADDRESSES)
      for (const oldest of this.#followers) {
        this.#followers.delete(oldest);
        break;
      }
    for (const watcher of this.#watchers) watcher();
  }
}
