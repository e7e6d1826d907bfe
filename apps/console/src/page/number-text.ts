/** Numbers for people, as the command writes them: powers of 1000, three digits. */

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** 1,234,567 */
export function countText(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** 12 B, 1.50 kB, 11.4 MB */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < BYTE_UNITS.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? Math.round(value) : value.toPrecision(3)} ${BYTE_UNITS[unit]}`;
}

/** 1 %, 0.0123 %, 4.50e-8 (below a millionth, where per cent are hard to read) */
export function rateText(rate: number): string {
  if (rate === 0) return '0';
  if (rate < 1e-6) return rate.toExponential(2);
  return `${Number((100 * rate).toPrecision(3))} %`;
}

/** 9.59, 0.123, 128: up to three digits, without zeros at the end. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return String(Number(value.toPrecision(3)));
}

/** 350k, 1M: the short form if it is exact, as the command reads it. */
export function shortCount(count: number): string {
  if (count % 1e6 === 0) return `${count / 1e6}M`;
  return count % 1e3 === 0 ? `${count / 1e3}k` : String(count);
}

/** 3.71 ms, 27.6 ms, 249 ms */
export function msText(ms: number): string {
  return `${shortNumber(ms)} ms`;
}

/** 1 min 5 s, 3 h 20 min, 350 ms */
export function durationText(ms: number): string {
  if (ms < 1) return 'less than 1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}
