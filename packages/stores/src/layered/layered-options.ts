/** The options of a layer, and the checks on them. */

import { randomBytes } from 'node:crypto';
import { SecretKey } from 'bloomery';
import type { Abortable } from './base.ts';
import { checkPolicy, type MergePolicy } from './decisions/merge-policy.ts';
import type { TornEnd } from './log/segment-file.ts';
import { bytesValues, type Values } from './values.ts';

export interface LayeredOptions<V> extends Abortable {
  /** How values become bytes in the log. Default: they are bytes. */
  readonly values?: Values<V> | undefined;
  /** Bits of the filter for each changed record, from 1 to 64. Default 10. */
  readonly bitsPerChange?: number | undefined;
  /** Changed records that the filter is sized for at first; it grows beyond. Default 1000. */
  readonly expectedChanges?: number | undefined;
  /** The conditions for a merge without being asked. Default: never. */
  readonly merge?: MergePolicy | undefined;
  /**
   * Whether to open the log without its lock, beside a process that writes. Changes that are made
   * later are not seen. Default false.
   */
  readonly readOnly?: boolean | undefined;
  /**
   * The key of the filter's hashes. Default: a random one. A filter that is sent to other machines
   * needs one that they know.
   */
  readonly key?: SecretKey | undefined;
  /**
   * Called when an unfinished change was cut off the end of the log. Default: one line by
   * `console.warn`.
   */
  readonly torn?: ((end: TornEnd) => void) | undefined;
  /**
   * Called when a merge by policy failed; it is tried again. Default: one line by `console.warn`.
   */
  readonly failed?: ((error: unknown) => void) | undefined;
}

export interface CheckedOptions<V> {
  readonly values: Values<V>;
  readonly bitsPerChange: number;
  readonly expectedChanges: number;
  readonly merge: MergePolicy;
  readonly readOnly: boolean;
  readonly secret: SecretKey;
  readonly torn: (end: TornEnd) => void;
  readonly failed: (error: unknown) => void;
}

const BITS = 10;
const MOST_BITS = 64;
const EXPECTED = 1000;

export function checkOptions<V>(options: LayeredOptions<V>): CheckedOptions<V> {
  const { bitsPerChange = BITS, expectedChanges = EXPECTED, merge = {} } = options;
  if (!(bitsPerChange >= 1 && bitsPerChange <= MOST_BITS))
    throw new RangeError(
      `Cannot open a layer: expected bitsPerChange from 1 to ${MOST_BITS}, got ${bitsPerChange}`,
    );
  if (!(Number.isSafeInteger(expectedChanges) && expectedChanges >= 1))
    throw new RangeError(
      `Cannot open a layer: expected expectedChanges, an integer of at least 1, got ${expectedChanges}`,
    );
  checkPolicy(merge);
  return {
    // The type of the values is that of the codec; without one they are bytes.
    values: options.values ?? (bytesValues as unknown as Values<V>),
    bitsPerChange,
    expectedChanges,
    merge,
    readOnly: options.readOnly ?? false,
    secret: options.key ?? new SecretKey(randomBytes(16)),
    torn: options.torn ?? warnOfTornEnd,
    failed: options.failed ?? warnOfFailure,
  };
}

function warnOfTornEnd({ path, offset, bytes }: TornEnd): void {
  console.warn(`${path}: an unfinished change of ${bytes} bytes was cut off (offset ${offset})`);
}

function warnOfFailure(error: unknown): void {
  console.warn(`A merge failed and will be tried again: ${error instanceof Error ? error.message : error}`);
}
