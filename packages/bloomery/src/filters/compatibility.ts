/**
 * When two filters, or a filter and a hash, belong together. Combining unlike filters would give answers that
 * look right and are not, so it is an error that shows both sides.
 */

import type { HashScheme } from '../kernel/hash-scheme.ts';

export function checkSameScheme(ofHash: HashScheme, ofFilter: HashScheme): void {
  if (ofHash !== ofFilter && ofHash?.id !== ofFilter.id) {
    throw new RangeError(
      `The hash is by ${ofHash?.id}, the filter by ${ofFilter.id}: hash with filter.scheme`,
    );
  }
}

/** The error for two filters that cannot be combined; both describe themselves by `toString`. */
export function unlikeFilters(verb: string, one: object, other: object): RangeError {
  return new RangeError(`Cannot ${verb} unlike filters: ${String(one)} and ${String(other)}`);
}
