/**
 * The text that a line must contain to match: a needle, or a combination of needles. A regular
 * expression gives such a combination (line-pattern.ts), and several needles are an `any`.
 */

export type RequiredText =
  | { readonly kind: 'text'; readonly bytes: Uint8Array }
  | { readonly kind: 'all'; readonly of: readonly RequiredText[] }
  | { readonly kind: 'any'; readonly of: readonly RequiredText[] };

/** Required by every line: no block can be skipped. */
export const NOTHING_REQUIRED: RequiredText = { kind: 'all', of: [] };

/** Rows that decide, in the same shape. An `all` of nothing is true for every block. */
export type RequiredRows =
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  | { readonly kind: 'all'; readonly of: readonly RequiredRows[] }
  | { readonly kind: 'any'; readonly of: readonly RequiredRows[] };

/** Replaces each needle by the rows of its grams, and drops the parts that decide nothing. */
export function requiredRows(text: RequiredText, rowsOf: (needle: Uint8Array) => number[]): RequiredRows {
  if (text.kind === 'text') {
    const rows = rowsOf(text.bytes);
    return rows.length === 0 ? EVERY_BLOCK : { kind: 'rows', rows };
  }
  const of = text.of.map((part) => requiredRows(part, rowsOf));
  if (text.kind === 'any') {
    if (of.some(isEveryBlock)) return EVERY_BLOCK;
    return of.length === 1 ? of[0] : { kind: 'any', of };
  }
  // The rows of all needles decide together, as if they were one needle.
  const rows = new Set(of.flatMap((part) => (part.kind === 'rows' ? part.rows : [])));
  const others = of.filter((part) => part.kind !== 'rows' && !isEveryBlock(part));
  if (rows.size === 0) return others.length === 1 ? others[0] : { kind: 'all', of: others };
  const joined: RequiredRows = { kind: 'rows', rows: [...rows] };
  return others.length === 0 ? joined : { kind: 'all', of: [joined, ...others] };
}

/** Whether no row decides: all blocks are candidates. */
export function isEveryBlock(rows: RequiredRows): boolean {
  return rows.kind === 'all' && rows.of.length === 0;
}

/** Keeps up to `most` rows of each needle: more blocks are candidates by them, and none fewer. */
export function firstRows(required: RequiredRows, most: number): RequiredRows {
  if (required.kind === 'rows') return { kind: 'rows', rows: required.rows.slice(0, most) };
  return { kind: required.kind, of: required.of.map((part) => firstRows(part, most)) };
}

/** Numbers of all rows, each once. */
export function rowNumbers(required: RequiredRows, found = new Set<number>()): Set<number> {
  if (required.kind === 'rows') for (const row of required.rows) found.add(row);
  else for (const part of required.of) rowNumbers(part, found);
  return found;
}

/** The candidates of a stripe as bits, from its rows. */
export function candidateBits(
  rows: RequiredRows,
  width: number,
  rowBits: (row: number) => Uint8Array,
): Uint8Array {
  const result = new Uint8Array(width).fill(rows.kind === 'any' ? 0 : 255);
  if (rows.kind === 'rows') {
    for (const row of rows.rows) intersect(result, rowBits(row));
  } else {
    for (const part of rows.of) {
      const bits = candidateBits(part, width, rowBits);
      if (rows.kind === 'all') intersect(result, bits);
      else for (let i = 0; i < width; i++) result[i] |= bits[i];
    }
  }
  return result;
}

/** Keeps the bits that are set in both. Rows of a full stripe are aligned, and go by words. */
export function intersect(result: Uint8Array, bits: Uint8Array): void {
  if (((result.byteOffset | result.length | bits.byteOffset) & 3) === 0) {
    const length = result.length >>> 2;
    const words = new Int32Array(result.buffer, result.byteOffset, length);
    const others = new Int32Array(bits.buffer, bits.byteOffset, length);
    for (let i = 0; i < length; i++) words[i] &= others[i];
    return;
  }
  for (let i = 0; i < result.length; i++) result[i] &= bits[i];
}

const EVERY_BLOCK: RequiredRows = { kind: 'all', of: [] };
