/**
 * A stream beside the far table, for tables that cannot filter by themselves or whose server should
 * not: the near side builds a frame, a process beside the far table keeps the rows that pass it,
 * and the near side joins these with `semiJoin` as a file. The frame is a `BloomFilter` of the
 * library, which asks in batches and may have any number of bits.
 *
 * The seed of the frame stands for the types of the key, so that a filter of integers is not asked
 * for texts: the frame would answer "certainly not" to all of them.
 */

import { BloomFilter, FrameError } from 'bloomery';
import { JoinError } from './join-error.ts';
import { KEY_TYPES, type KeyType, keyText } from './join-key.ts';
import type { JoinSide, ReadOptions, Row } from './join-side.ts';
import { NearKeys, type OnRows } from './near-keys.ts';
import { checkTypes, fieldsOf } from './semi-join.ts';

export interface NearFilterOptions extends ReadOptions {
  readonly near: JoinSide;
  readonly on: readonly string[];
  readonly falsePositiveRate: number;
  /** Types of the key's columns, for files. Default: text. */
  readonly types?: readonly KeyType[] | undefined;
  readonly onNearRows?: OnRows | undefined;
}

export interface NearFilter {
  readonly frame: Uint8Array<ArrayBuffer>;
  readonly keys: number;
  readonly types: readonly KeyType[];
}

/** The frame for `candidates`. */
export async function nearFilter(options: NearFilterOptions): Promise<NearFilter> {
  const { near, on, falsePositiveRate, signal, onNearRows } = options;
  const types = await typesOf(near, on, [], options);
  const keys = await NearKeys.read(near, fieldsOf(on, [], types), {
    signal,
    ...(onNearRows === undefined ? {} : { onRows: onNearRows }),
  });
  const filter = BloomFilter.forCapacity({
    capacity: Math.max(1, keys.size),
    falsePositiveRate,
    seed: seedOf(types),
  });
  filter.addMany([...keys.keys()]);
  return { frame: filter.encode(), keys: keys.size, types };
}

export interface CandidatesOptions extends ReadOptions {
  readonly far: JoinSide;
  readonly on: readonly string[];
  /** Columns that the near side wants. Those of the key are among them in any case. */
  readonly columns: readonly string[];
  readonly frame: Uint8Array;
  readonly types?: readonly KeyType[] | undefined;
  readonly onFarRows?: OnRows | undefined;
}

export interface Candidates {
  /** The names of the columns of `batches`: those of the key first. */
  readonly names: readonly string[];
  /** The rows that pass: all partners, and some false positives. */
  readonly batches: AsyncGenerator<readonly Row[]>;
}

/** The rows of the far side that may have a partner. */
export async function candidates(options: CandidatesOptions): Promise<Candidates> {
  const { far, on, columns, signal, onFarRows } = options;
  const types = await typesOf(far, on, columns, options);
  const filter = openFrame(options.frame, types);
  const fields = fieldsOf(on, columns, types);
  async function* batches(): AsyncGenerator<readonly Row[]> {
    for await (const batch of far.read(fields, { signal })) {
      const keys = batch.map((row) => keyText(fields.keys.map((place) => row[place])));
      const answers = filter.hasMany(keys.map((key) => key ?? ''));
      onFarRows?.(batch.length);
      const passing = batch.filter((_, i) => answers[i] && keys[i] !== null);
      if (passing.length > 0) yield passing;
    }
  }
  return { names: fields.names, batches: batches() };
}

async function typesOf(
  side: JoinSide,
  on: readonly string[],
  columns: readonly string[],
  { types, signal }: ReadOptions & { readonly types?: readonly KeyType[] | undefined },
): Promise<KeyType[]> {
  checkTypes(types, on.length);
  const found = await side.keyTypes(on, columns, { signal });
  return found.map((type, i) => type ?? types?.[i] ?? 'text');
}

function openFrame(frame: Uint8Array, types: readonly KeyType[]): BloomFilter {
  let filter: BloomFilter;
  try {
    filter = BloomFilter.decode(frame);
  } catch (cause) {
    if (!(cause instanceof FrameError)) throw cause;
    throw new JoinError(
      'filter',
      `Cannot join: expected the filter of a near side, got a frame that cannot be used: ${cause.message}`,
      { cause },
    );
  }
  const expected = new BloomFilter({ bits: 64, hashes: 1, seed: seedOf(types) });
  if (filter.scheme.id === expected.scheme.id) return filter;
  throw new JoinError(
    'filter',
    `Cannot join: expected a filter of keys of type ${types.join(', ')}, got ${filter} of another scheme`,
  );
}

/** A number for a list of types. The first digit keeps it apart from ordinary filters. */
function seedOf(types: readonly KeyType[]): number {
  return types.reduce((seed, type) => (seed * 5 + KEY_TYPES.indexOf(type) + 1) % 2 ** 31, 0x6a6f);
}
