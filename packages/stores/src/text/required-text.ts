/**
 * The text that a line must contain to match: a needle, or a combination of needles. A regular
 * expression gives such a combination (required-literals.ts), and several needles are an `any`.
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
  if (text.kind === 'any') return of.some(isEveryBlock) ? EVERY_BLOCK : { kind: 'any', of };
  return { kind: 'all', of: of.filter((part) => !isEveryBlock(part)) };
}

/** Whether no row decides: all blocks are candidates. */
export function isEveryBlock(rows: RequiredRows): boolean {
  return rows.kind === 'all' && rows.of.length === 0;
}

/** Visits the numbers of all rows. */
export function eachRow(rows: RequiredRows, visit: (row: number) => void): void {
  if (rows.kind === 'rows') rows.rows.forEach(visit);
  else for (const part of rows.of) eachRow(part, visit);
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

function intersect(result: Uint8Array, bits: Uint8Array): void {
  for (let i = 0; i < result.length; i++) result[i] &= bits[i];
}

const EVERY_BLOCK: RequiredRows = { kind: 'all', of: [] };
