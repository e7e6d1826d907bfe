/** Axes of plots: places of values, values of places, ticks. Pure. */

export interface Axis {
  readonly label: string;
  readonly scale: 'linear' | 'log';
  readonly from: number;
  readonly to: number;
  /** Chosen by `niceTicks` unless given. */
  readonly ticks?: readonly number[];
  readonly format?: (value: number) => string;
}

/** The place of a value on its axis, from 0 to 1; outside of it for values that are not on it. */
export function placeOf({ scale, from, to }: Axis, value: number): number {
  if (scale === 'linear') return (value - from) / (to - from);
  return Math.log(Math.max(value, Number.MIN_VALUE) / from) / Math.log(to / from);
}

/** The value at a place of the axis. */
export function valueAt({ scale, from, to }: Axis, place: number): number {
  return scale === 'linear' ? from + (to - from) * place : from * (to / from) ** place;
}

/** Ticks at 1, 2 or 5 times a power of ten; on a long log axis at the powers alone. */
export function niceTicks(axis: Axis, most = 6): readonly number[] {
  if (axis.ticks !== undefined) return axis.ticks;
  const { scale, from, to } = axis;
  if (scale === 'log') return logTicks(from, to, most);
  const raw = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999) ?? raw;
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function logTicks(from: number, to: number, most: number): readonly number[] {
  const decades = Math.log10(to / from);
  const factors = decades <= 1.2 ? [1, 2, 5] : decades <= most / 2 ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(decades / most));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}
