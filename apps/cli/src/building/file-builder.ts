/**
 * The builder of one filter file, from the check of its options to the finished structure.
 *
 * `build` needs it at three moments: to refuse wrong options before anything is read, to know the
 * hash scheme for the workers, and to add keys. It used to make a structure at each of them, so
 * `--capacity 1G` reserved the memory of three filters of 1.2 GB. Now the structure is made at once
 * if its size is known. Otherwise a structure for one key stands for it until `sizeFor` is called,
 * because only the library's constructors know all rules for the options.
 */

import type { HashScheme, KeyBatch } from 'bloomery';
import type { OwnFilter } from '../files/structures.ts';
import {
  type BuildParameters,
  needsCapacity,
  type OpenStructure,
  openStructure,
  takesHashes,
} from './open-structure.ts';

export class FileBuilder {
  /** Whether the number of keys must be told (`sizeFor`) before the first key is added. */
  readonly needsCapacity: boolean;
  /** Whether hashes suffice, so that workers can compute them. */
  readonly takesHashes: boolean;
  readonly #parameters: BuildParameters;
  #structure: OpenStructure;
  #sized: boolean;

  /** Throws a `UsageError` or a `RangeError` if the options do not fit the structure. */
  constructor(parameters: BuildParameters) {
    this.#parameters = parameters;
    this.needsCapacity = needsCapacity(parameters);
    this.takesHashes = takesHashes(parameters);
    this.#sized = !this.needsCapacity;
    this.#structure = openStructure(this.#sized ? parameters : { ...parameters, capacity: 1 });
  }

  /** The scheme that hashes the keys. */
  get scheme(): HashScheme {
    return this.#structure.scheme;
  }

  /** Whether `finish` reads the added hashes again, so that their memory must not be reused. */
  get keepsHashes(): boolean {
    return this.#structure.keepsHashes ?? false;
  }

  /**
   * Makes the structure for the keys of the input files, given their number in each file. It is
   * made for at least one key. A structure with a filter per file is made for the longest file.
   */
  sizeFor(keysOfFiles: readonly number[]): void {
    const { structure } = this.#parameters;
    const eachFile = structure === 'attenuated' || structure === 'rotating';
    const keys = eachFile ? Math.max(...keysOfFiles) : keysOfFiles.reduce((sum, count) => sum + count, 0);
    this.#structure = openStructure({ ...this.#parameters, capacity: Math.max(1, keys) });
    this.#sized = true;
  }

  /** Adds keys of file number `file`, with a value per key if the structure has values. */
  add(keys: KeyBatch, file: number, values?: readonly number[]): void {
    if (!this.#sized) throw new Error('Cannot add keys: expected a call of sizeFor before, got none');
    this.#structure.add(keys, file, values);
  }

  finish(): OwnFilter {
    return this.#structure.finish();
  }
}
