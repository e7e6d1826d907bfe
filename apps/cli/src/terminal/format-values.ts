/** Formats numbers for people. Scripts use `--json`, which has plain numbers. */

/** 1,234,567 */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** 12 B, 1.5 kB, 11.4 MB: powers of 1000, as disks and networks count. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 999.5 && unit < BYTE_UNITS.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? Math.round(value) : value.toPrecision(3)} ${BYTE_UNITS[unit]}`;
}

/** 1 %, 0.0123 %, 4.5e-8 (below a millionth, where per cent are hard to read). */
export function formatRate(rate: number): string {
  if (rate === 0) return '0';
  if (rate < 1e-6) return rate.toExponential(2);
  return `${Number((100 * rate).toPrecision(3))} %`;
}

/** 41.9 %, 0.3 %: one decimal, for columns of shares. */
export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** 0.8 s, 12 s, 2 min 5 s */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
