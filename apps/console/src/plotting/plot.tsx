/**
 * A plot as SVG: axes, curves, one point that can be moved along the x axis.
 *
 * We draw these ourselves, because the point is the purpose: it is a slider for mouse, finger and
 * keyboard, and a screen reader says its value. A plotting library that draws on a canvas has no
 * elements to give a role to.
 *
 * The drawing scales with its column: the coordinates are those of the view box.
 */

import { useRef } from 'preact/hooks';
import { shortNumber } from '../page/number-text.ts';
import { type Axis, niceTicks, placeOf, valueAt } from './axis.ts';

export type Point = readonly [x: number, y: number];

export interface Curve {
  readonly name: string;
  /** Number of its colour, from 0; -1 is grey. */
  readonly colour: number;
  readonly dashed?: boolean;
  readonly points: readonly Point[];
  /** A word at the end of the curve, in place of an entry in the legend. */
  readonly endLabel?: string;
}

interface Handle {
  /** Name of the value, for screen readers. */
  readonly label: string;
  readonly x: number;
  /** Height of the point, or null if it is only a line. */
  readonly y: number | null;
  /** The value in words. */
  readonly text: string;
  readonly least: number;
  readonly most: number;
  /** The value after a step up or down of this many steps. */
  readonly step: (x: number, steps: number) => number;
  readonly move: (x: number) => void;
}

export interface PlotProps {
  readonly title: string;
  /** One sentence that says what the plot shows, for readers who do not see it. */
  readonly summary: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly curves: readonly Curve[];
  readonly handle?: Handle;
  readonly marks?: readonly { readonly x: number; readonly label: string }[];
}

const WIDTH = 420;
const HEIGHT = 270;
const LEFT = 52;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 46;
const FIELD_WIDTH = WIDTH - LEFT - RIGHT;
const FIELD_HEIGHT = HEIGHT - TOP - BOTTOM;

export function Plot({ title, summary, x, y, curves, handle, marks = [] }: PlotProps) {
  const left = (value: number) => LEFT + FIELD_WIDTH * placeOf(x, value);
  const top = (value: number) => TOP + FIELD_HEIGHT * (1 - placeOf(y, value));
  const clip = `clip-${title.replaceAll(/\W/g, '')}`;
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <p class="y-label" aria-hidden="true">
        ↑ {y.label}
      </p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={`${title}. ${summary}`}>
        <clipPath id={clip}>
          <rect x={LEFT} y={TOP} width={FIELD_WIDTH} height={FIELD_HEIGHT} />
        </clipPath>
        <g aria-hidden="true">
          {niceTicks(x).map((tick) => (
            <g key={`x${tick}`}>
              <line class="grid" x1={left(tick)} x2={left(tick)} y1={TOP} y2={HEIGHT - BOTTOM} />
              <text x={left(tick)} y={HEIGHT - BOTTOM + 16} text-anchor="middle">
                {(x.format ?? shortNumber)(tick)}
              </text>
            </g>
          ))}
          {niceTicks(y).map((tick) => (
            <g key={`y${tick}`}>
              <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={top(tick)} y2={top(tick)} />
              <text x={LEFT - 6} y={top(tick) + 4} text-anchor="end">
                {(y.format ?? shortNumber)(tick)}
              </text>
            </g>
          ))}
          <rect class="border" x={LEFT} y={TOP} width={FIELD_WIDTH} height={FIELD_HEIGHT} />
          <text class="axis" x={LEFT + FIELD_WIDTH / 2} y={HEIGHT - 8} text-anchor="middle">
            {x.label}
          </text>
          <g clip-path={`url(#${clip})`}>
            {curves.map(({ name, colour, dashed, points }) => (
              <path
                key={name}
                class={`curve c${colour}${dashed ? ' dashed' : ''}`}
                d={pathOf(points, left, top)}
              />
            ))}
            {marks.map(({ x: at, label }) => (
              <g key={label}>
                <line class="mark" x1={left(at)} x2={left(at)} y1={TOP} y2={HEIGHT - BOTTOM} />
                <text x={left(at) + 5} y={TOP + 14}>
                  {label}
                </text>
              </g>
            ))}
          </g>
          <EndLabels curves={curves} left={left} top={top} />
        </g>
        {handle && <MovedPoint handle={handle} x={x} left={left} top={top} />}
      </svg>
      <Legend curves={curves} />
    </figure>
  );
}

interface Places {
  readonly left: (value: number) => number;
  readonly top: (value: number) => number;
}

function pathOf(points: readonly Point[], left: Places['left'], top: Places['top']): string {
  let path = '';
  let pen = 'M';
  for (const [x, y] of points) {
    if (!Number.isFinite(y)) {
      pen = 'M';
      continue;
    }
    // Far outside of the field, coordinates are cut, so that no renderer has to cope with them.
    const place = Math.max(-HEIGHT, Math.min(2 * HEIGHT, top(y)));
    path += `${pen}${left(x).toFixed(1)} ${place.toFixed(1)}`;
    pen = 'L';
  }
  return path;
}

interface EndLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly anchor: 'start' | 'end';
}

/**
 * Words at the points where curves leave the field: at the top, or else at the right. A word that
 * would stand on another one is left out.
 */
function EndLabels({ curves, left, top }: { curves: readonly Curve[] } & Places) {
  const placed: EndLabel[] = [];
  for (const { endLabel, points } of curves) {
    if (endLabel === undefined) continue;
    const inside = points.filter(([x, y]) => top(y) >= TOP && left(x) >= LEFT && left(x) <= WIDTH - RIGHT);
    if (inside.length === 0) continue;
    const [first, last] = [inside[0], inside[inside.length - 1]];
    const label: EndLabel =
      top(first[1]) < TOP + 20
        ? { text: endLabel, x: left(first[0]) + 5, y: TOP + 14, anchor: 'start' }
        : { text: endLabel, x: left(last[0]) - 4, y: top(last[1]) - 5, anchor: 'end' };
    if (placed.every(({ x, y }) => Math.abs(x - label.x) > 42 || Math.abs(y - label.y) > 12))
      placed.push(label);
  }
  return (
    <>
      {placed.map(({ text, x, y, anchor }) => (
        <text key={text} x={x} y={y} text-anchor={anchor}>
          {text}
        </text>
      ))}
    </>
  );
}

function Legend({ curves }: { curves: readonly Curve[] }) {
  const named = curves.filter(({ endLabel }) => endLabel === undefined);
  if (named.length === 0) return <p class="legend" />;
  return (
    <p class="legend" aria-hidden="true">
      {named.map(({ name, colour, dashed }) => (
        <span key={name} class="entry">
          <svg width="22" height="8" viewBox="0 0 22 8">
            <title>{name}</title>
            <path class={`curve c${colour}${dashed ? ' dashed' : ''}`} d="M0 4H22" />
          </svg>
          {name}
        </span>
      ))}
    </p>
  );
}

/** The point, as a slider. A pointer may go down anywhere in the field. */
function MovedPoint({ handle, x, left, top }: { handle: Handle; x: Axis } & Places) {
  const field = useRef<SVGRectElement>(null);
  const slider = useRef<SVGGElement>(null);
  const at = Math.max(LEFT, Math.min(WIDTH - RIGHT, left(handle.x)));
  const height =
    handle.y === null ? TOP + FIELD_HEIGHT / 2 : Math.max(TOP, Math.min(TOP + FIELD_HEIGHT, top(handle.y)));
  const limited = (value: number) => Math.max(handle.least, Math.min(handle.most, value));
  const follow = (event: PointerEvent) => {
    const { left: start, width } = field.current!.getBoundingClientRect();
    handle.move(limited(valueAt(x, (event.clientX - start) / width)));
  };
  const press = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    slider.current?.focus({ preventScroll: true });
    follow(event);
  };
  const drag = (event: PointerEvent) => {
    if ((event.currentTarget as Element).hasPointerCapture(event.pointerId)) follow(event);
  };
  const steps: Record<string, number> = {
    ArrowRight: 1,
    ArrowUp: 1,
    ArrowLeft: -1,
    ArrowDown: -1,
    PageUp: 10,
    PageDown: -10,
  };
  const type = (event: KeyboardEvent) => {
    const by = steps[event.key];
    if (by !== undefined) handle.move(limited(handle.step(handle.x, by)));
    else if (event.key === 'Home') handle.move(handle.least);
    else if (event.key === 'End') handle.move(handle.most);
    else return;
    event.preventDefault();
  };
  return (
    <g>
      <rect
        ref={field}
        class="field"
        x={LEFT}
        y={TOP}
        width={FIELD_WIDTH}
        height={FIELD_HEIGHT}
        onPointerDown={press}
        onPointerMove={drag}
      />
      <g
        ref={slider}
        class="handle"
        role="slider"
        // SVG has no attribute tabIndex: its names are case sensitive.
        tabindex={0}
        aria-label={handle.label}
        // The place on the axis: rates have exponents, which these attributes do not take.
        aria-valuemin={0}
        aria-valuemax={1000}
        aria-valuenow={Math.round((1000 * (at - LEFT)) / FIELD_WIDTH)}
        aria-valuetext={handle.text}
        onKeyDown={type}
      >
        <line x1={at} x2={at} y1={TOP} y2={HEIGHT - BOTTOM} />
        {handle.y === null ? null : <circle class="ring" cx={at} cy={height} r="11" />}
        {handle.y === null ? null : <circle class="dot" cx={at} cy={height} r="6" />}
        <path class="grip" d={`M${at - 6} ${HEIGHT - BOTTOM + 1}l6 -8l6 8z`} />
      </g>
    </g>
  );
}
