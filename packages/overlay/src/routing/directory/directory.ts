/**
 * The port of the second tier: a directory that is always right, or says that it does not know.
 */

import type { KeyHash } from 'bloomery';

export type DirectoryAnswer =
  /**
   * These nodes may hold the key, by their ids. The caller asks them. If `isComplete` and all of
   * them deny it, no node holds the key.
   */
  | { readonly status: 'holders'; readonly holders: readonly string[]; readonly isComplete: boolean }
  /** No node held the key at some moment since the question. */
  | { readonly status: 'absent' }
  /** The directory could not tell in time, for this reason. */
  | { readonly status: 'unknown'; readonly why: string };

export interface Directory {
  /**
   * Enters keys of this node, or removes them. Resolves with true when the directory has confirmed
   * it, so that no later answer is "absent" while the node holds the key. Resolves with false if
   * that is not certain in time; the directory goes on trying.
   */
  change(added: readonly KeyHash[], removed: readonly KeyHash[], timeoutMs: number): Promise<boolean>;
  find(hash: KeyHash, timeoutMs: number): Promise<DirectoryAnswer>;
  close(): void;
}
