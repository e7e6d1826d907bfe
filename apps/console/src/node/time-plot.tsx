/**
 * Lines over time, drawn by uPlot, with a table of the same numbers for readers who do not see a
 * canvas. Gaps stay gaps: times when the node did not run have no rows.
 */

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

export interface TimeLine {
  readonly name: string;
  readonly colour: number;
  readonly values: readonly (number | null)[];
}

interface TimePlotProps {
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly times: readonly number[];
  readonly stepMs: number;
  readonly format: (value: number) => string;
  readonly lines: readonly TimeLine[];
}

const HEIGHT = 140;
/** The lowest top of an axis, so that a quiet hour is a flat line. */
const LEAST_TOP = 4;
/** Rows of the table; more would only be noise in a reader's ear. */
const TOLD = 12;

export function TimePlot({ title, times, stepMs, format, lines }: TimePlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const element = place.current!;
    const query = matchMedia('(prefers-color-scheme: dark)');
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(element, lines, format), dataOf(times, stepMs, lines), element);
    };
    make();
    const watch = new ResizeObserver(() => {
      plot.current?.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT });
    });
    watch.observe(element);
    query.addEventListener('change', make);
    return () => {
      watch.disconnect();
      query.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);
  useEffect(() => {
    plot.current?.setData(dataOf(times, stepMs, lines));
  }, [times, stepMs, lines]);
  const told = times.slice(-TOLD);
  return (
    <figure class="time-plot">
      <figcaption>{title}</figcaption>
      <div ref={place} class="canvas-place" aria-hidden="true" />
      <p class="legend" aria-hidden="true">
        {lines.map(({ name, colour }) => (
          <span key={name} class="entry">
            <svg width="22" height="8" viewBox="0 0 22 8">
              <path class={`curve c${colour}`} d="M0 4H22" />
            </svg>
            {name}
          </span>
        ))}
      </p>
      <table class="hidden-text">
        <caption>
          {title}, the last {told.length} rows
        </caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {told.map((time, i) => (
            <tr key={time}>
              <th scope="row">{new Date(time).toLocaleString()}</th>
              {lines.map(({ name, values }) => {
                const value = values[times.length - told.length + i];
                return <td key={name}>{value === null ? 'none' : format(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

/** uPlot's columns, with an empty row in each gap, so that no line is drawn across it. */
function dataOf(times: readonly number[], stepMs: number, lines: readonly TimeLine[]): uPlot.AlignedData {
  const seconds: number[] = [];
  const columns: (number | null)[][] = lines.map(() => []);
  for (const [i, time] of times.entries()) {
    if (i > 0 && time - times[i - 1] > 1.5 * stepMs) {
      seconds.push((times[i - 1] + stepMs) / 1000);
      for (const column of columns) column.push(null);
    }
    seconds.push(time / 1000);
    for (const [j, column] of columns.entries()) column.push(lines[j].values[i]);
  }
  return [seconds, ...columns];
}

function optionsOf(
  element: HTMLElement,
  lines: readonly TimeLine[],
  format: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = '12px system-ui, sans-serif';
  const axis = {
    stroke: colour('--quiet'),
    font,
    grid: { stroke: colour('--faint') },
    ticks: { show: false },
  };
  return {
    width: Math.max(200, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: 'history' }, drag: { setScale: false }, points: { show: true } },
    axes: [
      {
        ...axis,
        space: 70,
        size: 28,
        values: (_plot, values, _axis, _space, step) =>
          values.map((value, i) => timeText(value, values[i - 1], step < 60)),
      },
      { ...axis, size: 62, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(LEAST_TOP, most * 1.1)] } },
    series: [
      {},
      ...lines.map(({ name, colour: number }) => ({
        label: name,
        stroke: colour(`--c${number}`),
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}

/** The time of day in the viewer's zone, or the date where a day begins. */
function timeText(seconds: number, before: number | undefined, hasSeconds: boolean): string {
  const time = new Date(seconds * 1000);
  const isNewDay = before !== undefined && new Date(before * 1000).getDate() !== time.getDate();
  const isDayStep = before !== undefined && seconds - before >= 86_400;
  if (isNewDay || isDayStep) return time.toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
  return time.toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    ...(hasSeconds ? { second: '2-digit' } : {}),
    hourCycle: 'h23',
  });
}
