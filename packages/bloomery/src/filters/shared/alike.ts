/**
 * The error for combining structures that do not match. Combining them would give answers that look
 * right and are wrong, so we throw an error that shows both sides.
 */

/** The error for two filters that cannot be combined; both describe themselves by `toString`. */
export function unlikeFilters(verb: string, one: object, other: object): RangeError {
  return new RangeError(`Cannot ${verb} unlike filters: ${String(one)} and ${String(other)}`);
}
