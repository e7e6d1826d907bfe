/**
 * Changes a filter that is loaded and written as a whole. These are structures that can be added to
 * but have no fixed place for a key's bits, coded frames, files of other systems, and small files.
 * The new file replaces the old one atomically (@bloomery/files), in the same form: coded, packed
 * with gzip, or plain.
 *
 * A filter that cannot be changed is refused, with a hint what to do instead.
 */

import { type KeyBatch, RangeSketch, RotatingBloomFilter } from 'bloomery';
import type { DcsoFilter } from 'bloomery/formats/dcso';
import type { GuavaFunnel } from 'bloomery/formats/guava';
import { compressFrame } from 'bloomery/wire';
import { guavaKey, textOf } from '../conversion/guava-keys.ts';
import type { FilterFile } from '../files/filter-file.ts';
import { eachKey } from '../keys/each-key.ts';
import { integersOf } from '../keys/integer-keys.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Takes a batch of keys. Returns how many of them were new or removed, or undefined if the
 * structure does not know.
 */
export type TakeKeys = (keys: KeyBatch) => number | undefined;

/** Returns the function that adds keys to an open file. */
export function adderFor(file: FilterFile): TakeKeys {
  if (file.format !== 'bloomery') return foreignAdder(file.path, file.format, file.filter);
  const { filter, structure, path } = file;
  if (!('addMany' in filter)) {
    const options = structure.option === 'bloomier' ? 'all keys and values' : 'all keys, the old and the new';
    throw new UsageError(
      `${path} is a ${structure.name}, which is made for its keys once and for all; build it again from ${options}`,
    );
  }
  // Keys go into the current generation, not into that of the last change.
  if (filter instanceof RotatingBloomFilter && filter.rotation === 'by-time') filter.advance(Date.now());
  if (filter instanceof RangeSketch) {
    return (keys) => {
      filter.addMany(integersOf(keys, filter.largestKey));
      return undefined;
    };
  }
  return (keys) => filter.addMany(keys) ?? undefined;
}

/** Returns the function that removes keys from an open file. */
export function removerFor(file: FilterFile): TakeKeys {
  const { path } = file;
  if (file.format !== 'bloomery') {
    throw new UsageError(
      `${path} is a ${file.format} file: a key's bits may be other keys' bits too; ${INSTEAD}`,
    );
  }
  const { filter, structure } = file;
  if ('deleteMany' in filter) return (keys) => explained(path, () => filter.deleteMany(keys));
  if ('subtractMany' in filter) return (keys) => explained(path, () => filter.subtractMany(keys));
  if (filter instanceof RangeSketch) {
    const remove = (keys: KeyBatch) =>
      integersOf(keys, filter.largestKey).filter((key) => filter.subtract(key)).length;
    return (keys) => explained(path, () => remove(keys));
  }
  const why: Record<string, string> = {
    bloomier: 'is made for its keys once and for all',
    static: 'is made for its keys once and for all',
    'heavy-hitters': 'keeps the keys it has counted',
    rotating: 'forgets by generations only',
  };
  const reason =
    why[structure.option] ?? "cannot forget a key, because a key's bits may be other keys' bits too";
  throw new UsageError(`${path} is a ${structure.name}, which ${reason}; ${INSTEAD}`);
}

const INSTEAD = 'a CountingBloomFilter can remove: bloomery build --structure counting';

/** The bytes of the changed filter, in the form that the file had. */
export async function encodeLike(file: FilterFile): Promise<Uint8Array> {
  if (file.format === 'bloomery') {
    const frame = file.filter.encode();
    return file.coded ? compressFrame(frame) : frame;
  }
  const packed = file.bytes[0] === 0x1f && file.bytes[1] === 0x8b;
  if (file.format === 'dcso' && packed) return (file.filter as unknown as DcsoFilter).encodeGzip();
  return file.filter.encode();
}

function foreignAdder(path: string, format: string, filter: object): TakeKeys {
  const { add, funnel } = filter as { add?: (key: unknown) => boolean; funnel?: GuavaFunnel };
  if (add === undefined) {
    throw new UsageError(
      `${path} is a ${format} file, which bloomery reads but does not change; use what made it`,
    );
  }
  // The keys of a digest are URLs. Bytes would be taken as the MD5 of a URL.
  const keyOf = format === 'squid' ? textOf : guavaKey(funnel ?? 'bytes');
  return (keys) =>
    explained(path, () => {
      let fresh = 0;
      for (const key of eachKey(keys)) if (add.call(filter, keyOf(key))) fresh++;
      return fresh;
    });
}

/** Turns a refusal by the library into an error that the user can fix. */
function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof RangeError || cause instanceof TypeError)) throw cause;
    throw new UsageError(`${path}: ${cause.message}; nothing was changed`, { cause });
  }
}
