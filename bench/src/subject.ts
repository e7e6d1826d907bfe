/** What is measured: a filter (or something else that answers `has`), and the ways keys get into it. */

import { flatStrings, lines, type Packed } from './keys.ts';

/** The ways in. One process measures one subject, in all of its forms. */
export type FormName = 'scalar' | 'batch' | 'packed' | 'lines' | 'hashes';

export const FORMS: Readonly<Record<FormName, string>> = {
  scalar: 'one string a call',
  batch: 'arrays of strings',
  packed: 'packed bytes',
  lines: 'newline-separated bytes',
  hashes: 'hashes computed before',
};

export type Action = 'add' | 'hit' | 'miss';

/** A run of keys in the shapes the forms need, each made when it is first asked for (outside the timing). */
export class Chunk {
  readonly packed: Packed;
  readonly count: number;
  #strings: string[] | undefined;
  #lines: Uint8Array | undefined;
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

  /** What `hash` made of the packed keys, computed once. */
  hashed<T>(hash: (packed: Packed) => T): T {
    this.#hashes ??= hash(this.packed);
    return this.#hashes as T;
  }
}

export interface Form {
  readonly name: FormName;
  /** Adds all keys of the chunk to the scratch filter. Absent where that makes no sense. */
  readonly add?: (chunk: Chunk) => void;
  /** Asks the full filter for all keys: how many "maybe", or one byte a key (counted outside the timing). */
  readonly has: (chunk: Chunk) => number | Uint8Array;
}

/**
 * Two filters of the same parameters: the full one holds the whole key set and is queried; the scratch one is
 * what `add` works on, emptied whenever the sample of keys has been added.
 */
export interface Subject {
  readonly forms: readonly Form[];
  /** Adds keys to the full filter, by the quickest way there is. */
  fill(chunk: Chunk): void;
  /** Brings the scratch filter where it will be when used (a resident of WebAssembly memory). */
  warmScratch?(chunk: Chunk): void;
  reset(): void;
  /** What `hashes` forms work on, computed outside the timing. */
  hash?(packed: Packed): unknown;
  /** Memory of the structure in bits; undefined where it consists of objects and the heap has to be asked. */
  bits?(): number;
  /** The parameters, for people. */
  describe(): string;
  /** For the native twin: its parameters, and the XXH64 of the filter's bytes, by which the two are compared. */
  twin?(): NativeTwin;
}

export interface NativeTwin {
  readonly layout: 'split' | 'block' | 'classic';
  /** Blocks, or bits. */
  readonly size: number;
  readonly hashes: number;
  readonly checksum: string;
}

/** A chunk-wide loop over strings. Every process has its own copy of this code, so each call in it is of one kind. */
export function scalarForm(add: ((key: string) => unknown) | undefined, has: (key: string) => boolean): Form {
  const form = {
    name: 'scalar' as const,
    has: ({ strings }: Chunk) => {
      let found = 0;
      for (let i = 0; i < strings.length; i++) if (has(strings[i])) found++;
      return found;
    },
  };
  if (add === undefined) return form;
  return {
    ...form,
    add: ({ strings }: Chunk) => {
      for (let i = 0; i < strings.length; i++) add(strings[i]);
    },
  };
}
