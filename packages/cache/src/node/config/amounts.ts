/**
 * Sizes and durations as people write them: `512MB`, `2GiB`, `30s`, `1.5h`. A size without a unit
 * is in bytes. A duration without a unit is refused, because half of all programs mean seconds by
 * `30` and the other half milliseconds.
 *
 * kB, MB, GB, TB (and k, M, G, T) are powers of 1000, KiB, MiB, GiB, TiB powers of 1024, as in the
 * standards (IEC 80000-13) and in the other commands. Letters may be in either case; no unit ever
 * means bits.
 */

const SIZE_UNITS: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  m: 1e6,
  mb: 1e6,
  mib: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gib: 1024 ** 3,
  t: 1e12,
  tb: 1e12,
  tib: 1024 ** 4,
};

const DURATION_UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Bytes, rounded to a whole number, or undefined if the text is not a size. */
export function parseSize(text: string): number | undefined {
  return parseAmount(text, SIZE_UNITS);
}

/** Milliseconds, or undefined if the text is not a duration or has no unit. */
export function parseDuration(text: string): number | undefined {
  return parseAmount(text, DURATION_UNITS);
}

/** The shortest text that `parseSize` reads as the same number. */
export function formatSize(bytes: number): string {
  return formatAmount(
    bytes,
    [
      ['TB', 1e12],
      ['TiB', 1024 ** 4],
      ['GB', 1e9],
      ['GiB', 1024 ** 3],
      ['MB', 1e6],
      ['MiB', 1024 ** 2],
      ['KiB', 1024],
      ['kB', 1e3],
    ],
    '',
  );
}

/** The shortest text that `parseDuration` reads as the same number. */
export function formatDuration(ms: number): string {
  return formatAmount(
    ms,
    [
      ['d', 86_400_000],
      ['h', 3_600_000],
      ['m', 60_000],
      ['s', 1000],
    ],
    'ms',
  );
}

function parseAmount(text: string, units: Record<string, number>): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text.trim().replaceAll('_', ''));
  if (match === null) return undefined;
  const unit = match[2].toLowerCase();
  if (!Object.hasOwn(units, unit)) return undefined;
  const value = Math.round(Number(match[1]) * units[unit]);
  return Number.isSafeInteger(value) ? value : undefined;
}

function formatAmount(value: number, units: readonly (readonly [string, number])[], rest: string): string {
  if (value !== 0) for (const [name, size] of units) if (value % size === 0) return `${value / size}${name}`;
  return `${value}${rest}`;
}
