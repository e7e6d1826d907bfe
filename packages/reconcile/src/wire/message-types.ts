/**
 * The numbers by which messages and their flags are told apart, and sizes of fields. They stand in
 * a file that imports nothing, because bundlers replace a constant by its value only if it comes
 * from such a file.
 */

export const HELLO = 1;
export const SUMMARY = 2;
export const MORE = 3;
export const SYMBOLS = 4;
export const FILTER = 5;
export const FILTERED = 6;
export const TELL = 7;
export const VERDICT = 8;
export const AGAIN = 9;
export const KEYS = 10;

/** Bytes of randomness that each side contributes. */
export const RANDOM_BYTES = 8;

/** The most bits of a number in a list. */
export const LIST_BITS = 52;

/** The most hashes of a filter: rates down to 10^-12. */
export const MOST_HASHES = 40;

/** Keys of at least this many bytes make a message. */
export const PIECE_BYTES = 32_768;

/** The version in a hello. */
export const VERSION = 1;

/** Flags of a hello and of a summary. */
export const KEPT = 1;
export const FROM_INITIATOR = 2;
export const FROM_RESPONDER = 4;
export const FLOWS = 6;
/** Flag of a hello. */
export const HELLO_EAGER = 8;
/** Flags of a summary. */
export const SUMMARY_LIST = 8;
export const SUMMARY_EQUAL = 16;
export const SUMMARY_COUNTERS = 24;
/** The flags from this bit on are the bytes of a cell minus 5. */
export const SUMMARY_SHIFT = 5;
