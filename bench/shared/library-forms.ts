/**
 * The ways keys get into a structure of the library: the same for all of them, because all take the
 * same batches.
 */

import { type HashScheme, hashKeys, type KeyBatch } from '../../packages/bloomery/dist/index.js';
import type { Packed } from './keys.ts';
import { type Answers, type Chunk, type Form, type FormName, scalarForm } from './subject.ts';

/**
 * The calls of a structure, for one key and for many. `has` stands for its question: has, count,
 * get.
 */
export interface Calls {
  readonly add?: (key: string) => unknown;
  readonly addMany?: (keys: KeyBatch) => unknown;
  readonly has: (key: string) => boolean | number;
  readonly hasMany?: (keys: KeyBatch) => Answers;
  readonly delete?: (key: string) => boolean;
  readonly deleteMany?: (keys: KeyBatch) => number;
  readonly build?: (keys: KeyBatch, count: number) => (keys: KeyBatch) => Answers;
}

/** Hashes for the `hashes` form of a structure. */
export function hasher(scheme: HashScheme): (packed: Packed) => KeyBatch {
  return (packed) => hashKeys(packed, scheme);
}

/** One key a call, and each kind of batch. Structures without batches have the first form only. */
export function libraryForms(calls: Calls, hash: (packed: Packed) => KeyBatch): Form[] {
  const scalar = scalarForm(calls.add, calls.has, calls.delete);
  if (calls.hasMany === undefined) return [scalar];
  return [
    scalar,
    batchForm('batch', calls, ({ strings }) => strings),
    batchForm('packed', calls, ({ packed }) => packed),
    batchForm('lines', calls, ({ lines }) => ({ lines })),
    batchForm('hashes', calls, (chunk) => chunk.hashed(hash)),
  ];
}

function batchForm(name: FormName, calls: Calls, keys: (chunk: Chunk) => KeyBatch): Form {
  const { addMany, hasMany, deleteMany, build } = calls;
  return {
    name,
    has: (chunk) => hasMany!(keys(chunk)),
    ...(addMany !== undefined && { add: (chunk: Chunk) => void addMany(keys(chunk)) }),
    ...(deleteMany !== undefined && { delete: (chunk: Chunk) => deleteMany(keys(chunk)) }),
    ...(build !== undefined && {
      build: (chunk: Chunk) => {
        const built = build(keys(chunk), chunk.count);
        return (some: Chunk) => built(some.packed);
      },
    }),
  };
}
