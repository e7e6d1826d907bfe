/**
 * A file as the server of blocks sees it: whole, or being fetched. `watch` tells when any of it
 * changed, and the server reads the rest from here.
 */

import type { Cancel } from '@bloomery/transport';
import type { BlockSet } from '../decisions/block-set.ts';
import type { FileShape } from '../decisions/file-shape.ts';
import type { HashList } from '../wire/hash-list.ts';

export interface SharedFile {
  readonly digest: string;
  /** 32 hexadecimal digits that this node drew for this file. */
  readonly node: string;
  /** The blocks of the file, or null until its size is known. */
  readonly shape: FileShape | null;
  readonly has: BlockSet;
  readonly isComplete: boolean;
  readonly asksOrigin: boolean;
  /** The list that the node works by, or null. */
  readonly list: HashList | null;
  /** The blocks that the origin is being asked for. */
  readonly fetching: readonly number[];
  /** The hash of a block that is there, and whether it is first-hand. */
  hashOf(block: number): { readonly hash: Uint8Array; readonly isFirstHand: boolean };
  /** Bytes of blocks that are there. */
  read(offset: number, length: number): Promise<Uint8Array>;
  watch(changed: () => void): Cancel;
  /** Called with the address of a node that follows this one, and so has a server of its own. */
  follower?(address: string): void;
  /** Other nodes that have parts of the file, as far as they are known. */
  readonly others: readonly string[];
}
