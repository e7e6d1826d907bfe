/**
 * Asks any filter file for many keys. Filters of the library take batches, and hashes where they
 * can. Filters of other systems are asked key by key, in the form of a key that their format uses.
 */

import { CountMinSketch, HeavyHitters, type KeyBatch, RangeSketch } from 'bloomery';
import type { FilterFile, ForeignFile } from '../files/filter-file.ts';
import type { OwnFilter } from '../files/structures.ts';
import { eachKey } from '../keys/each-key.ts';
import { integersOf } from '../keys/integer-keys.ts';
import { UsageError } from '../usage-error.ts';

export interface Asker {
  /** Whether `ask` takes hashes of the filter's own scheme. */
  readonly takesHashes: boolean;
  /** Returns one byte per key: 1 for maybe, 0 for certainly not. */
  ask(keys: KeyBatch): Uint8Array;
}

export function askerOf(file: FilterFile): Asker {
  if (file.format !== 'bloomery') {
    const has = foreignAsker(file);
    return { takesHashes: false, ask: (keys) => Uint8Array.from(eachKey(keys), (key) => (has(key) ? 1 : 0)) };
  }
  return ownAsker(file.filter);
}

/** Asks a filter of the library. */
export function ownAsker(filter: OwnFilter): Asker {
  if (filter instanceof HeavyHitters) {
    return {
      takesHashes: false,
      ask: (keys) => Uint8Array.from(eachKey(keys), (key) => (filter.count(key) > 0 ? 1 : 0)),
    };
  }
  if (filter instanceof CountMinSketch) {
    return {
      takesHashes: true,
      ask: (keys) => Uint8Array.from(filter.countMany(keys), (count) => (count > 0 ? 1 : 0)),
    };
  }
  if (filter instanceof RangeSketch) {
    const { largestKey } = filter;
    return {
      takesHashes: false,
      ask: (keys) => Uint8Array.from(integersOf(keys, largestKey), (key) => (filter.count(key) > 0 ? 1 : 0)),
    };
  }
  return { takesHashes: true, ask: (keys) => filter.hasMany(keys) };
}

function foreignAsker(file: ForeignFile): (key: Uint8Array) => boolean {
  const { filter } = file as { filter: { has(key: unknown): boolean } };
  // A byte order mark at the beginning of a line is part of the key, as it is when keys are added.
  const text = new TextDecoder('utf-8', { ignoreBOM: true });
  if (file.format === 'binary-fuse') return (key) => filter.has(integerOf(text.decode(key), file));
  if (file.format === 'pybloom') {
    if ((file.filter as { digest?: string }).digest === undefined) {
      throw new UsageError(
        `${file.path} is of pybloom-live before 4.0 (MD5) or later (XXH128, which is not read), and does not say which; --format pybloom-md5 asks it as the former`,
      );
    }
    return (key) => filter.has(text.decode(key));
  }
  if (file.format === 'squid') {
    return (key) => {
      try {
        return filter.has(text.decode(key));
      } catch (error) {
        if (error instanceof TypeError) return false; // text that is not a URL is in no cache
        throw error;
      }
    };
  }
  const { funnel } = file.filter as { funnel?: string };
  if (file.format === 'guava' && (funnel === 'int' || funnel === 'long')) {
    // A Java int is a number here, a long a bigint.
    const form = funnel === 'int' ? Number : (value: bigint) => value;
    return (key) => filter.has(form(integerOf(text.decode(key), file)));
  }
  if (file.format === 'guava' && funnel === 'bytes') return (key) => filter.has(key);
  // Java hashes the text of a line. Formats that take bytes get the bytes as they are.
  if (file.format === 'guava' || file.format === 'spark' || file.format === 'datasketches') {
    return (key) => filter.has(text.decode(key));
  }
  return (key) => filter.has(key);
}

function integerOf(text: string, file: ForeignFile): bigint {
  const digits = text.trim();
  // BigInt('') is 0.
  if (/^-?\d+$/.test(digits)) return BigInt(digits);
  throw new UsageError(
    `${file.path} is a ${file.format} file and its keys are integers, got ${JSON.stringify(text.slice(0, 40))}`,
  );
}
