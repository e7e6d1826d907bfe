/**
 * The bytes of one entry of the log. An entry of a Redis stream is a list of fields and values;
 * ours have exactly one field, whose name says what the entry is:
 *
 * | field | value |
 * |---|---|
 * | `h` | up to 1000 hashes, 8 bytes each, little-endian, end to end |
 * | `b` | the beginning of a log |
 * | `t` | a snapshot was made and the log was trimmed; the value is the number of entries so far |
 * | `m` | a member added keys to the snapshot that were in no entry; the value is as for `t` |
 *
 * We refused one entry per add: an entry costs about 100 bytes on the wire, and a thousand hashes
 * in one entry cost 8.1 bytes each.
 */

/** Hashes in one entry. */
export const MOST_HASHES = 1000;
const HASH_BYTES = 8;
const WORD_BYTES = 4;

export type LogEntry =
  | { readonly kind: 'hashes'; readonly words: Int32Array }
  | { readonly kind: 'begin' }
  /** `entries` counts all entries that the log ever had, this one included. */
  | { readonly kind: 'trimmed' | 'merged'; readonly entries: number }
  | { readonly kind: 'unknown'; readonly problem: string };

/** Packs hashes, given as low and high halves in turn. The result has memory of its own. */
export function packHashes(words: Int32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength).slice();
}

/**
 * Reads the fields of an entry. Untrusted bytes give `unknown`, never an exception. Hashes may
 * share their memory with the fields.
 */
export function readEntry(fields: readonly Uint8Array[]): LogEntry {
  const [field, value] = fields;
  if (fields.length !== 2 || field.length !== 1) return unknown(`${fields.length / 2} fields`);
  switch (String.fromCharCode(field[0])) {
    case 'h': {
      if (value.length === 0 || value.length % HASH_BYTES !== 0 || value.length > MOST_HASHES * HASH_BYTES)
        return unknown(`${value.length} bytes of hashes`);
      return { kind: 'hashes', words: wordsOf(value) };
    }
    case 'b':
      return { kind: 'begin' };
    case 't':
      return counted('trimmed', value);
    case 'm':
      return counted('merged', value);
    default:
      return unknown(`the field ${field[0]}`);
  }
}

/** The hashes where they lie, or a copy of them if they lie across the words of memory. */
function wordsOf(value: Uint8Array): Int32Array {
  const { buffer, byteOffset, byteLength } = value;
  return byteOffset % WORD_BYTES === 0
    ? new Int32Array(buffer, byteOffset, byteLength / WORD_BYTES)
    : new Int32Array(new Uint8Array(value).buffer);
}

function counted(kind: 'trimmed' | 'merged', value: Uint8Array): LogEntry {
  const text = String.fromCharCode(...value.subarray(0, 17));
  return /^[1-9]\d{0,15}$/.test(text) ? { kind, entries: Number(text) } : unknown(`the count ${text}`);
}

function unknown(problem: string): LogEntry {
  return { kind: 'unknown', problem };
}
