/**
 * What can be said of a filter file, as plain data: this is what `bloomery info --json` prints, and what its table and
 * `bloomery verify` are made from. Nothing here needs the secret of a keyed filter.
 *
 * A promise is what the file itself says: the capacity in a frame with the true rate that its bits and hashes have there
 * (bloomery/math), or a rate that is written down. `estimated…` comes from the ones.
 */

import { canBeCoded, readFrameHead } from 'bloomery/frames';
import { binaryEntropy } from 'bloomery/math';
import { compressFrame } from 'bloomery/wire';
import type { FilterFile } from '../files/filter-file.ts';
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
  /** The hash; of a seeded one with the seed. Never a key. */
  readonly hash: string;
  readonly seed?: string | undefined;
  /** What the structure was made with, by the names of the library. */
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly capacity?: number | undefined;
  /** The rate that the file promises, at capacity where it has one. */
  readonly promisedFalsePositiveRate?: number | undefined;
  readonly ones?: number | undefined;
  readonly fill?: number | undefined;
  /** Keys that went in, if the file counts them. */
  readonly size?: number | undefined;
  /** Distinct keys by the ones, with an interval of 95 % where there is one. */
  readonly estimatedSize?: SizeEstimate | undefined;
  readonly estimatedFalsePositiveRate?: number | undefined;
  /** More keys than promised, by five standard deviations. Undefined: nothing was promised. */
  readonly overfull?: boolean | undefined;
  /** Stages, generations, levels, links. */
  readonly parts?: readonly FilterPart[] | undefined;
  readonly bytes: FilterBytes;
}

export interface FilterPart {
  readonly name: string;
  readonly bits: number;
  readonly hashes: number;
  readonly capacity?: number | undefined;
  readonly estimatedSize: number;
  /** By its ones, or what the file says that it was made for. */
  readonly estimatedFalsePositiveRate?: number | undefined;
  readonly promisedFalsePositiveRate?: number | undefined;
}

export interface FilterBytes {
  readonly file: number;
  /** The plain frame of a coded one. */
  readonly plain: number;
  /** The coded frame, where the structure has one. */
  readonly compressed?: number | undefined;
  /** bits · H(share of ones) / 8: what an ideal coder would need for the bits alone (compressed II-B). */
  readonly entropy?: number | undefined;
}

/** What a structure or a format adds to what all have in common. */
export type FilterDetails = Pick<FilterDescription, 'parameters' | 'hash'> &
  Partial<Omit<FilterDescription, 'path' | 'format' | 'structure' | 'keyed' | 'bytes'>> & {
    /** The number of bits in `ones` of them, for the entropy. */
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
    structure: own ? file.structure.name : file.filter.constructor.name,
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
  // The small coding does 16 MB/s, the fast one 190.
  if (!canBeCoded(readFrameHead(frame).structure) || frame.length > LARGEST_FAST) return undefined;
  return compressFrame(frame, { effort: frame.length > LARGEST_SMALL ? 'fast' : 'small' }).length;
}

const LARGEST_SMALL = 8e6;
const LARGEST_FAST = 256e6;
