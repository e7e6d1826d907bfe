/**
 * The head of a frame, for every structure: its structure, its hash, its parameters by name, and
 * where its payload lies. The head is read from the first bytes (53 are enough for every
 * structure), and needs neither the payload nor a secret key.
 *
 *     const head = readFrameHead(bytes);
 // Typed by the structure.
 *     if (head.structure === 'BloomFilter') head.parameters.bits;
 *
 * The bytes after the head are not checked here; `checkFrame` does that. The head of a coded frame
 * (docs/spec/wire.md) gives the parameters of the filter in it, but no end, because only its writer
 * knows the length of the code.
 */

import { FORGE64, SIPHASH24, XXH64 } from '../hashing/hash-scheme.ts';
import { BLOCK_BITS, SPLIT_BLOCK_BITS } from '../kernel/bits/blocked.ts';
import { BLOCKED_LAYOUTS, BLOOM_LAYOUTS } from '../math/layouts.ts';
import {
  COUNT_MIN_FRAME,
  COUNT_MIN_UPDATES,
  doublesOf,
  HEAVY_FRAME,
  RANGE_FRAME,
  SPECTRAL_FRAME,
  SPECTRAL_METHODS,
} from './counter-kinds.ts';
import { CHECKSUM, checkEnvelope, FRAME_MAGIC, FrameError, refuse } from './envelope.ts';
import { CODED, type FrameKind, HEADER, headLength, readHead, readSeed } from './frame.ts';
import { BLOCKED_FRAME, BLOOM_FRAME, COUNTING_FRAME } from './frame-kinds.ts';
import {
  ATTENUATED_FRAME,
  ROTATING_FRAME,
  ROTATIONS,
  SCALABLE_FRAME,
  scalablePlanOf,
} from './nested-kinds.ts';
import { BLOOMIER_FRAME, HASH_LIST_FRAME, STATIC_FRAME } from './table-kinds.ts';

/** The parameters of each structure, under the names that its class uses. */
export interface FrameParameters {
  readonly BloomFilter: BitParameters & { readonly layout: (typeof BLOOM_LAYOUTS)[number] };
  readonly BlockedBloomFilter: BitParameters & {
    readonly layout: (typeof BLOCKED_LAYOUTS)[number];
    readonly blocks: number;
  };
  readonly CountingBloomFilter: Omit<BitParameters, 'bits'> & {
    readonly layout: (typeof BLOOM_LAYOUTS)[number];
    readonly counters: number;
    readonly counterBits: number;
  };
  readonly SpectralBloomFilter: Omit<BitParameters, 'bits'> & {
    readonly method: (typeof SPECTRAL_METHODS)[number];
    readonly counters: number;
    readonly secondary: number;
    readonly counterBits: number;
  };
  readonly CountMinSketch: SketchParameters;
  readonly BloomierFilter: TableParameters & { readonly checkBits: number; readonly valueBits: number };
  readonly StaticFilter: TableParameters & { readonly fingerprintBits: number };
  readonly HashList: BitParameters & { readonly count: number };
  readonly ScalableBloomFilter: {
    readonly layout: (typeof BLOOM_LAYOUTS)[number];
    readonly falsePositiveRate: number;
    readonly growth: number;
    readonly tightening: number;
    readonly initialCapacity: number;
    readonly stages: number;
  };
  readonly RotatingBloomFilter: {
    readonly rotation: (typeof ROTATIONS)[number];
    readonly generations: number;
    readonly ttlMs: number | undefined;
    /** A time in milliseconds, or the number of rotations. */
    readonly clock: number;
  };
  readonly AttenuatedBloomFilter: { readonly levels: number };
  readonly HeavyHitters: SketchParameters & {
    readonly threshold: number;
    /** Number of bytes of the candidates at the end of the payload. */
    readonly candidateBytes: number;
  };
  /** Width and depth are 0 where all levels are exact. */
  readonly RangeSketch: SketchParameters & {
    readonly universeBits: number;
    readonly exactBits: number;
  };
}

interface BitParameters {
  readonly bits: number;
  readonly hashes: number;
  readonly capacity: number | undefined;
}

interface SketchParameters {
  readonly update: (typeof COUNT_MIN_UPDATES)[number];
  readonly width: number;
  readonly depth: number;
  readonly counterBits: number;
}

interface TableParameters {
  readonly size: number;
  readonly attempt: number;
  readonly segments: number;
  readonly segmentLength: number;
}

/** The name of a structure, which is the name of its class. */
export type StructureName = keyof FrameParameters;

/** The hash that a head names. */
export interface FrameHash {
  readonly name: 'forge64' | 'siphash-2-4' | 'xxh64';
  /** Whether lookups in the filter need a secret key. */
  readonly keyed: boolean;
  /** The seed, or for a keyed hash the check value of its key. */
  readonly seed: bigint;
}

/** The head of a frame of structure `S`. */
export interface FrameHeadOf<S extends StructureName> {
  readonly structure: S;
  /** The number of the structure in frames. */
  readonly code: number;
  /** Whether the payload is coded. `expandFrame` of bloomery/wire makes the frame plain. */
  readonly coded: boolean;
  readonly hash: FrameHash;
  readonly parameters: FrameParameters[S];
  /** Offset of the payload. */
  readonly start: number;
  /**
   * End of the payload, where the checksum begins. Undefined for a coded frame, whose end only its
   * length tells.
   */
  readonly end: number | undefined;
  /** Number of bytes of the whole plain frame. */
  readonly plainLength: number;
}

/** The head of a frame. `structure` determines the type of the parameters. */
export type FrameHead = { [S in StructureName]: FrameHeadOf<S> }[StructureName];

/**
 * Reads the head of a frame of any structure. The bytes after it may be missing. Throws a
 * `FrameError` if the head is invalid.
 */
export function readFrameHead(bytes: Uint8Array): FrameHead {
  const kind = kindOfFrame(bytes);
  const { variant, parameters, start } = readHead(kind, bytes);
  const structure = kind.name as StructureName;
  const coded = variant >= CODED;
  const plain = coded ? variant - CODED : variant;
  const end = start + Math.ceil(kind.payloadBits(plain, parameters) / 8);
  const code = bytes[7];
  const name = HASHES[code];
  if (name === undefined) refuse('hash', 7, 'a known hash', code);
  return {
    structure,
    code: kind.code,
    coded,
    hash: { name, keyed: code === SIPHASH24, seed: readSeed(bytes) },
    parameters: NAMED[structure](plain, parameters),
    start,
    end: coded ? undefined : end,
    plainLength: end + CHECKSUM,
  } as FrameHead;
}

/** @internal The number of bytes of the head, as far as these first bytes tell. */
export function frameHeadBytes(bytes: Uint8Array): number {
  return bytes.length < HEADER ? HEADER : headLength(kindOfFrame(bytes));
}

/**
 * Whether frames of a structure have a coded form (docs/spec/wire.md).
 *
 * @deprecated Every structure has one.
 */
export function canBeCoded(structure: StructureName): boolean {
  return structure in NAMED;
}

/** @internal The name of the structure with this number, or undefined if there is none. */
export function structureByCode(wanted: number): StructureName | undefined {
  return KINDS.find(({ code }) => code === wanted)?.name as StructureName | undefined;
}

/** @internal The number of a structure, or undefined for another name. */
export function codeOfStructure(wanted: string): number | undefined {
  return KINDS.find(({ name }) => name === wanted)?.code;
}

/** @internal The kind of a frame, by its first bytes. */
export function kindOfFrame(bytes: Uint8Array): FrameKind {
  checkEnvelope(FRAME_MAGIC, bytes, HEADER);
  const kind = KINDS.find(({ code }) => code === bytes[5]);
  if (kind === undefined) throw new FrameError('structure', 5, `no structure has the number ${bytes[5]}`);
  return kind;
}

const KINDS: readonly FrameKind[] = [
  BLOOM_FRAME,
  BLOCKED_FRAME,
  COUNTING_FRAME,
  SPECTRAL_FRAME,
  COUNT_MIN_FRAME,
  BLOOMIER_FRAME,
  STATIC_FRAME,
  HASH_LIST_FRAME,
  SCALABLE_FRAME,
  ROTATING_FRAME,
  ATTENUATED_FRAME,
  HEAVY_FRAME,
  RANGE_FRAME,
];

const HASHES: Readonly<Record<number, FrameHash['name']>> = {
  [FORGE64]: 'forge64',
  [SIPHASH24]: 'siphash-2-4',
  [XXH64]: 'xxh64',
};

type Named = {
  readonly [S in StructureName]: (variant: number, parameters: readonly number[]) => FrameParameters[S];
};

/** Parameters by name. A capacity or a ttl of 0 means that there is none. */
const NAMED: Named = {
  BloomFilter: (variant, [bits, hashes, capacity]) => ({
    layout: BLOOM_LAYOUTS[variant],
    bits,
    hashes,
    capacity: capacity || undefined,
  }),
  BlockedBloomFilter: (variant, [blocks, hashes, capacity]) => ({
    layout: BLOCKED_LAYOUTS[variant],
    bits: blocks * (variant === 0 ? BLOCK_BITS : SPLIT_BLOCK_BITS),
    blocks,
    hashes,
    capacity: capacity || undefined,
  }),
  CountingBloomFilter: (variant, [counters, hashes, counterBits, capacity]) => ({
    layout: BLOOM_LAYOUTS[variant],
    counters,
    hashes,
    counterBits,
    capacity: capacity || undefined,
  }),
  SpectralBloomFilter: (variant, [counters, secondary, hashes, counterBits, capacity]) => ({
    method: SPECTRAL_METHODS[variant],
    counters,
    secondary,
    hashes,
    counterBits,
    capacity: capacity || undefined,
  }),
  CountMinSketch: (variant, [width, depth, counterBits]) => ({
    update: COUNT_MIN_UPDATES[variant],
    width,
    depth,
    counterBits,
  }),
  BloomierFilter: (_, [size, checkBits, valueBits, attempt, segments, segmentLength]) => ({
    size,
    checkBits,
    valueBits,
    attempt,
    segments,
    segmentLength,
  }),
  StaticFilter: (_, [size, fingerprintBits, attempt, segments, segmentLength]) => ({
    size,
    fingerprintBits,
    attempt,
    segments,
    segmentLength,
  }),
  HashList: (_, [bits, hashes, capacity, count]) => ({
    bits,
    hashes,
    capacity: capacity || undefined,
    count,
  }),
  ScalableBloomFilter: (variant, parameters) => ({
    layout: BLOOM_LAYOUTS[variant],
    ...scalablePlanOf(parameters),
    stages: parameters[7],
  }),
  RotatingBloomFilter: (variant, [generations, ttlMs, clock]) => ({
    rotation: ROTATIONS[variant],
    generations,
    ttlMs: ttlMs || undefined,
    clock,
  }),
  AttenuatedBloomFilter: (_, [levels]) => ({ levels }),
  HeavyHitters: (variant, [width, depth, counterBits, low, high, candidateBytes]) => ({
    update: COUNT_MIN_UPDATES[variant],
    width,
    depth,
    counterBits,
    threshold: doublesOf([low, high])[0],
    candidateBytes,
  }),
  RangeSketch: (variant, [universeBits, exactBits, width, depth, counterBits]) => ({
    update: COUNT_MIN_UPDATES[variant],
    universeBits,
    exactBits,
    width,
    depth,
    counterBits,
  }),
};
