/**
 * The state of purges in the disk folder of a node, as one JSON file that is replaced as a whole. A
 * node without a disk keeps it in memory: after a restart its store is empty, and it has forgotten
 * the purges that it ordered.
 *
 * A file that cannot be read counts as none: its neighbours then send what they still keep.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '@bloomery/files';
import type { PurgeMemory, PurgeState } from '../../peers/purges/purge-exchange.ts';

const FILE = 'purges.json';

export function purgeMemory(folder: string | null): PurgeMemory {
  if (folder === null) return { initial: null, save: () => {} };
  const path = join(folder, FILE);
  return {
    initial: readState(path),
    save: (state) => writeAtomically(path, Buffer.from(JSON.stringify(state)), { mode: 0o600 }),
  };
}

function readState(path: string): PurgeState | null {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as PurgeState;
    const { journal, positions, validAfter } = state;
    const isWhole =
      typeof journal.epoch === 'string' &&
      Number.isSafeInteger(journal.dropped) &&
      journal.keys.every((key) => typeof key === 'string') &&
      Object.values(positions).every(({ sequence }) => Number.isSafeInteger(sequence)) &&
      Number.isFinite(validAfter);
    return isWhole ? state : null;
  } catch {
    return null;
  }
}
