/**
 * The names of the layouts of Bloom filters. The formulas, the filters and the frames use these
 * lists. A frame names a layout by its place in the list, so the order never changes.
 */

/** Layouts in which the bits of a key range over the whole array, or each over its slice. */
export const BLOOM_LAYOUTS = ['classic', 'partitioned'] as const;

/** Layouts in which all bits of a key lie in one block. */
export const BLOCKED_LAYOUTS = ['blocked', 'split-block'] as const;
