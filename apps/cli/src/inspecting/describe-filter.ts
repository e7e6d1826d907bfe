/**
 * Describes a filter file as plain data. `bloomery info --json` prints this data, and the table of
 * `info` and `bloomery verify` are based on it. Nothing here needs the secret key of a keyed
 * filter.
 *
 * A promise comes from the file itself: the capacity in a frame, with the true rate of its bits and
 * hashes at that capacity (bloomery/math), or a rate stored in the file. `estimated…` values come
 * from the ones.
 */

import { readFrameHead } from 'bloomery/frames';
import { binaryEntropy } from 'bloomery/math';
import { compressFrame } from 'bloomery/wire';
import type { FilterFile } from '../files/filter-file.ts';
import { className } from '../files/structures.ts';
import { describeForeign } from './describe-foreign.ts';
import { describeOwn } from './describe-own.ts';
import type { SizeEstimate } from './size-estimate.ts';

export interface FilterDescription {
  readonly path: string;
  /** 'bloomery', or the system whose file it is. */
  readonly format: string;
  /** The name of the class that reads it. */
  readonly structure: string;
  readonly keyed: boolean;
  /** Name of the hash function. The seed is separate, and a secret key is never included. */
  readonly hash: string;
  readonly seed?: string | undefined;
  /** Parameters of the structure, under their names in the library. */
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly capacity?: number | undefined;
  /** The rate that the file promises, at capacity where it has one. */
  readonly promisedFalsePositiveRate?: number | undefined;
  readonly ones?: number | undefined;
  readonly fill?: number | undefined;
  /** Number of added keys, if the file counts them. */
  readonly size?: number | undefined;
  /** Number of distinct keys, estimated from the ones, with a 95 % interval where there is one. */
  readonly estimatedSize?: SizeEstimate | undefined;
  readonly estimatedFalsePositiveRate?: number | undefined;
  /**
   * Whether it holds more keys than its capacity, by five standard deviations. Undefined if nothing
   * was promised.
   */
  readonly overfull?: boolean | undefined;
  /** Stages, generations, levels, links. */
  readonly parts?: readonly FilterPart[] | undefined;
  /** A number that the structure tells of a key, and the command that asks for it. */
  readonly tells?: { readonly command: string; readonly what: string } | undefined;
  /** The keys that were added most, largest counts first: at most ten. */
  readonly heavy?: readonly HeavyKey[] | undefined;
  readonly bytes: FilterBytes;
}

interface HeavyKey {
  readonly key: string;
  /** How often it was added, at most and at least. */
  readonly count: number;
  readonly atLeast: number;
}

export interface FilterPart {
  readonly name: string;
  readonly bits: number;
  readonly hashes: number;
  readonly capacity?: number | undefined;
  readonly estimatedSize: number;
  /**
   * The rate by its ones. `promisedFalsePositiveRate` is the rate that the file says it was made
   * for.
   */
  readonly estimatedFalsePositiveRate?: number | undefined;
  readonly promisedFalsePositiveRate?: number | undefined;
}

interface FilterBytes {
  readonly file: number;
  /** Size of the plain frame. */
  readonly plain: number;
  /** Size of the coded frame, if the structure has one. */
  readonly compressed?: number | undefined;
  /**
   * bits · H(share of ones) / 8: the size that an ideal coder would need for the bits alone
   * (compressed II-B).
   */
  readonly entropy?: number | undefined;
}

/** Facts of one structure or format, in addition to those that all have in common. */
export type FilterDetails = Pick<FilterDescription, 'parameters' | 'hash'> &
  Partial<Omit<FilterDescription, 'path' | 'format' | 'structure' | 'keyed' | 'bytes'>> & {
    /** The number of bits among which `ones` were counted, for the entropy. */
    readonly entropyBits?: number;
  };

export function describeFilter(file: FilterFile): FilterDescription {
  const own = file.format === 'bloomery';
  const { entropyBits, ...details } = own ? describeOwn(file) : describeForeign(file);
  const entropy =
    entropyBits === undefined ? undefined : (entropyBits * binaryEntropy(details.fill ?? 0)) / 8;
  return {
    path: file.path,
    format: file.format,
    structure: own ? file.structure.name : className(file.filter),
    keyed: own && readFrameHead(file.frame).hash.keyed,
    ...details,
    bytes: {
      file: file.bytes.length,
      plain: own ? file.frame.length : file.bytes.length,
      compressed: own ? compressedBytes(file.frame) : undefined,
      entropy,
    },
  };
}

function compressedBytes(frame: Uint8Array): number | undefined {
  // The small coding runs at 16 MB/s, the fast one at 190 MB/s.
  if (frame.length > LARGEST_FAST) return undefined;
  return compressFrame(frame, { effort: frame.length > LARGEST_SMALL ? 'fast' : 'small' }).length;
}

const LARGEST_SMALL = 8e6;
const LARGEST_FAST = 256e6;
