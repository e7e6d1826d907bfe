/**
 * The subject of a measurement: a filter (or something else that answers `has`), and the ways keys
 * get into it.
 */

import { flatStrings, integers, lines, type Packed } from './keys.ts';

/** The ways in. One process measures one subject, in all of its forms. */
export type FormName = 'scalar' | 'batch' | 'packed' | 'lines' | 'hashes' | 'integers';

export const FORMS: Readonly<Record<FormName, string>> = {
  scalar: 'one string a call',
  batch: 'arrays of strings',
  packed: 'packed bytes',
  lines: 'newline-separated bytes',
  hashes: 'hashes computed before',
  integers: 'one 64-bit bigint a call',
};

export const FORM_NAMES = Object.keys(FORMS) as readonly FormName[];

/**
 * The operations that are timed, in ns per key. 'hit' and 'miss' ask for stored keys and for
 * others, whatever the question is (has, count, get); 'build' makes a whole structure of all keys.
 */
export const ACTIONS = ['add', 'hit', 'miss', 'delete', 'build'] as const;
export type Action = (typeof ACTIONS)[number];

/**
 * A run of keys in the shapes the forms need, each made when it is first asked for (outside the
 * timing).
 */
export class Chunk {
  readonly packed: Packed;
  readonly count: number;
  #strings: string[] | undefined;
  #lines: Uint8Array | undefined;
  #integers: bigint[] | undefined;
  #hashes: unknown;

  constructor(packed: Packed) {
    this.packed = packed;
    this.count = packed.offsets.length - 1;
  }

  get strings(): string[] {
    return (this.#strings ??= flatStrings(this.packed));
  }

  get lines(): Uint8Array {
    return (this.#lines ??= lines(this.packed));
  }

  /** A 64-bit integer for each key, for structures that know nothing else. */
  get integers(): bigint[] {
    return (this.#integers ??= integers(this.packed));
  }

  /** Result of `hash` for the packed keys, computed once. */
  hashed<T>(hash: (packed: Packed) => T): T {
    this.#hashes ??= hash(this.packed);
    return this.#hashes as T;
  }
}

/** One number a key: `Subject.no` or anything else, which is "maybe". Or how many were "maybe". */
export type Answers = number | ArrayLike<number>;

export interface Form {
  readonly name: FormName;
  /**
   * Adds all keys of the chunk to the scratch filter (see `Subject`). Absent where that makes no
   * sense.
   */
  readonly add?: (chunk: Chunk) => void;
  /** Asks the full filter for all keys. Answers are counted outside the timing. */
  readonly has: (chunk: Chunk) => Answers;
  /**
   * Removes all keys from the full filter, and says how many of them it removed. `Subject.undo`
   * puts them back.
   */
  readonly delete?: (chunk: Chunk) => number;
  /**
   * Makes a structure of all keys of the chunk, for those that are made at once, and returns its
   * `has`.
   */
  readonly build?: (chunk: Chunk) => (chunk: Chunk) => Answers;
}

/**
 * Two filters of the same parameters: the full one holds the whole key set and is queried; the
 * scratch one is what `add` works on, emptied whenever the sample of keys has been added.
 *
 * A structure that can forget needs no second one. It says how to `undo`, and `add` then adds keys
 * that are not in to the full one.
 */
export interface Subject {
  readonly forms: readonly Form[];
  /** Adds keys to the full filter, by the quickest way there is. */
  fill(chunk: Chunk): void;
  /** Brings the scratch filter where it will be when used (a resident of WebAssembly memory). */
  warmScratch?(chunk: Chunk): void;
  /** Empties the scratch filter, if there is one. */
  reset?(): void;
  /** Takes back what was done to the full filter, outside the timing. */
  readonly undo?: { readonly add: (chunk: Chunk) => void; readonly delete: (chunk: Chunk) => void };
  /** The answer that means "certainly not": 0 if absent. */
  readonly no?: number;
  /** Input of the `hashes` forms, computed outside the timing. */
  hash?(packed: Packed): unknown;
  /**
   * The estimate of each key's count, of structures that count. Compared with the true ones after
   * the rounds.
   */
  counts?(keys: readonly string[]): ArrayLike<number>;
  /** Largest count, which means that many or more. */
  readonly maxCount?: number;
  /** True if its counts may be too low, and it says so. */
  readonly mayCountLow?: boolean;
  /**
   * Memory of the structure in bits; undefined where it consists of objects and the heap has to be
   * asked.
   */
  bits?(): number;
  /** The parameters, for people. */
  describe(): string;
  /** Further figures, such as bits per counter. */
  figures?(): Readonly<Record<string, number>>;
  /**
   * For the native twin: its parameters, and the XXH64 of the filter's bytes, by which the two are
   * compared.
   */
  twin?(): NativeTwin;
}

export interface NativeTwin {
  readonly layout: 'split' | 'block' | 'classic';
  /** Blocks, or bits. */
  readonly size: number;
  readonly hashes: number;
  readonly checksum: string;
}

/**
 * Chunk-wide loops over strings. Every process has its own copy of this code, so each call in it is
 * of one kind.
 * `has` may answer with a number: a count, a value.
 */
export function scalarForm(
  add: ((key: string) => unknown) | undefined,
  has: (key: string) => boolean | number,
  remove?: (key: string) => boolean,
): Form {
  return {
    name: 'scalar',
    has: ({ strings }: Chunk) => {
      let found = 0;
      for (let i = 0; i < strings.length; i++) if (has(strings[i])) found++;
      return found;
    },
    ...(add !== undefined && {
      add: ({ strings }: Chunk) => {
        for (let i = 0; i < strings.length; i++) add(strings[i]);
      },
    }),
    ...(remove !== undefined && {
      delete: ({ strings }: Chunk) => {
        let removed = 0;
        for (let i = 0; i < strings.length; i++) if (remove(strings[i])) removed++;
        return removed;
      },
    }),
  };
}

/** A loop over 64-bit integers. */
export function integerForm(has: (key: bigint) => boolean, build: Form['build'] & {}): Form {
  return {
    name: 'integers',
    has: ({ integers }) => {
      let found = 0;
      for (let i = 0; i < integers.length; i++) if (has(integers[i])) found++;
      return found;
    },
    build,
  };
}

/** Calls `visit` for each key of a chunk: the way to fill what has no batches. */
export function eachString(visit: (key: string) => unknown): (chunk: Chunk) => void {
  return ({ strings }) => {
    for (const key of strings) visit(key);
  };
}
