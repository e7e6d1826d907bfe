/**
 * Files on a disk, with the indexes of the folders that they are in. A file is opened once,
 * compared with the index, and read through the same descriptor, so that a file that is replaced
 * meanwhile does not mix with the new one.
 */

import { closeSync, openSync } from 'node:fs';
import type { RequiredText } from '@bloomery/stores/text';
import { FolderSearch } from './folder-search.ts';
import { indexedFolderOf } from './list-files.ts';
import type { SearchCounts } from './search-indexes.ts';
import { bytesAt, kindOfHead, readSome, statOf } from './text-file.ts';
import type { OpenText, TextTarget } from './text-target.ts';

export interface TargetOptions {
  readonly required: RequiredText;
  readonly counts: SearchCounts;
  readonly onError: (message: string) => void;
}

/** Makes targets of paths. Those below one indexed folder share its search. */
export function localTargets(options: TargetOptions): (path: string) => TextTarget {
  const searches = new Map<string, FolderSearch>();
  return (path) => ({
    path,
    open: async () => openLocal(path, await searchFor(path, searches, options)),
  });
}

async function searchFor(
  path: string,
  searches: Map<string, FolderSearch>,
  { required, counts, onError }: TargetOptions,
): Promise<FolderSearch | null> {
  const folder = indexedFolderOf(path);
  if (folder === null) return null;
  const known = searches.get(folder);
  if (known !== undefined) return known;
  const search = await FolderSearch.open(folder, required, counts);
  searches.set(folder, search);
  if (search.problem !== null)
    onError(`${search.problem}; its files are read whole; bloomery index --rebuild ${folder} repairs it`);
  return search;
}

/** Bytes of the beginning by which a log that was emptied and written again is noticed. */
const BEGINNING = 4096;

function openLocal(path: string, search: FolderSearch | null): OpenText {
  const descriptor = openSync(path, 'r');
  try {
    const stat = statOf(descriptor);
    const size = Number(stat.size);
    const read = bytesAt(descriptor);
    const beginning = readSome(descriptor, 0, Math.min(size, BEGINNING));
    return {
      path,
      kind: kindOfHead(beginning),
      size,
      answer: search?.answer(path, descriptor) ?? { read: 'all', why: 'not indexed' },
      read,
      readAll: read,
      check: () => {
        const later = statOf(descriptor);
        if (later.size === stat.size && later.mtimeNs === stat.mtimeNs) return;
        // A log that grows is read as far as it was at the beginning of the search.
        const isGrown = later.size > stat.size && readSome(descriptor, 0, beginning.length).equals(beginning);
        if (!isGrown) throw new Error('Cannot search the whole file: it was changed while it was read');
      },
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
