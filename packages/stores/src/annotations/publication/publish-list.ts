/**
 * One publication of a list: all files of it, from the list itself, the one before, and the steps
 * of the past week (docs/spec/annotations.md). Pure; `server/publication-folder.ts` has the folder.
 *
 * A step is the update from one publication to the next. The update of a window joins the steps
 * since its beginning, so the publisher keeps a few hundred bytes for each hour of the past week,
 * and no old list but the last one.
 */

import { FrameError, HashList, type SecretKey } from 'bloomery';
import { type SignEd25519, signFrame } from 'bloomery/signing';
import {
  compressFrame,
  joinListChanges,
  type ListChanges,
  listChanges,
  makeListUpdate,
  readListUpdate,
} from 'bloomery/wire';
import {
  epochAt,
  FALSE_POSITIVE_RATE,
  fullFile,
  PERIOD_S,
  signedName,
  updateFile,
  WINDOWS,
} from './list-files.ts';

/** The update from one publication to the next. */
export interface ListStep {
  readonly from: number;
  readonly to: number;
  readonly update: Uint8Array;
}

export interface PublishedList {
  readonly epoch: number;
  /** The plain frame. */
  readonly frame: Uint8Array;
}

export interface PublishListOptions {
  readonly group: string;
  readonly nowS: number;
  readonly periodS?: number;
  /** The plain frame of the list now. */
  readonly frame: Uint8Array;
  /** The publication before, or null if there is none. */
  readonly last: PublishedList | null;
  /** The last epoch that was signed, if the list of it is lost. */
  readonly lastEpoch?: number | undefined;
  /** Steps to the publication before, oldest first, each from where the one before leads. */
  readonly steps: readonly ListStep[];
  readonly sign: SignEd25519;
  readonly signal?: AbortSignal | undefined;
}

export interface Publication {
  readonly epoch: number;
  readonly head: Uint8Array;
  /** All files but the head, by their names. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The steps that the next publication needs. */
  readonly steps: readonly ListStep[];
}

/** Makes the files of a publication. */
export async function publishList(options: PublishListOptions): Promise<Publication> {
  const { group, nowS, periodS = PERIOD_S, frame, last, sign, signal } = options;
  const epoch = epochAt(nowS, last?.epoch ?? options.lastEpoch ?? null, periodS);
  const head = await signFrame(frame, {
    epoch,
    name: signedName(group),
    sign,
    ...(signal !== undefined && { signal }),
  });
  const full = compressFrame(frame);
  const files = new Map([[fullFile(epoch), full]]);
  const steps = stepsTo(epoch, frame, last, options.steps, periodS);
  for (const window of WINDOWS) {
    const within = steps.filter(({ to }) => to > epoch - window * periodS);
    if (within.length === 0) continue;
    const update = makeListUpdate(frame, joinListChanges(within.map((step) => step.changes)));
    if (update.length < full.length) files.set(updateFile(window, epoch), update);
  }
  return { epoch, head, files, steps: steps.map(({ from, to, update }) => ({ from, to, update })) };
}

/**
 * The list of these URLs. Its capacity is that of the list before as long as it fits, because lists
 * of other sizes have no update between them.
 */
export function buildList(
  urls: readonly string[],
  { key, last }: { readonly key?: SecretKey | undefined; readonly last?: Uint8Array | undefined } = {},
): HashList {
  const before = last === undefined ? undefined : HashList.decode(last, key === undefined ? {} : { key });
  const capacity = capacityFor(urls.length, before?.capacity);
  const list = HashList.forCapacity({
    capacity,
    falsePositiveRate: FALSE_POSITIVE_RATE,
    hashes: 1,
    ...(key !== undefined && { key }),
  });
  list.addMany(urls);
  return list;
}

/**
 * The capacity of a list for `size` URLs: 20 % more than that, in steps of about an eighth, and at
 * least 1,024. A list that has become eight times too large for its URLs shrinks.
 */
export function capacityFor(size: number, before?: number): number {
  if (before !== undefined && size <= before && 8 * size >= before) return before;
  if (before === LEAST_CAPACITY && size <= before) return before;
  let capacity = LEAST_CAPACITY;
  while (capacity < 1.2 * size) capacity = Math.ceil((capacity * 9) / 8);
  return capacity;
}

const LEAST_CAPACITY = 1024;

interface ReadStep extends ListStep {
  readonly changes: ListChanges;
}

/**
 * The steps of the longest window, with the one to this publication. A step that is missing, is of
 * a list of another size, or cannot be read ends them.
 */
function stepsTo(
  epoch: number,
  frame: Uint8Array,
  last: PublishedList | null,
  earlier: readonly ListStep[],
  periodS: number,
): readonly ReadStep[] {
  if (last === null) return [];
  const update = updateBetween(last.frame, frame);
  if (update === null) return [];
  const oldest = epoch - WINDOWS[WINDOWS.length - 1] * periodS;
  const kept: ReadStep[] = [{ from: last.epoch, to: epoch, update, changes: readListUpdate(frame, update) }];
  for (let i = earlier.length - 1; i >= 0; i--) {
    const step = earlier[i];
    if (step.to !== kept[0].from || step.to <= oldest) break;
    try {
      kept.unshift({ ...step, changes: readListUpdate(frame, step.update) });
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      break;
    }
  }
  return kept;
}

/** The update from one list to the other, or null if there is none, because their sizes differ. */
function updateBetween(from: Uint8Array, to: Uint8Array): Uint8Array | null {
  try {
    return makeListUpdate(to, listChanges(from, to));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}
