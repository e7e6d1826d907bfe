/**
 * Plots as SVG, written by hand: axes, ticks, labels and a legend are all that the papers need.
 *
 * A file has its own background and two sets of colours, and chooses by `prefers-color-scheme`. So
 * it can be read on white and on black pages, even where the page and its reader's settings
 * disagree. Inside a page, the page sets the colours (page-style.ts). Numbers are rounded to a
 * tenth of a pixel, so that the same data give the same file.
 */

import { type Axis, type Plot, type Point, position, type Series, tickLabel } from './plot.ts';

const WIDTH = 760;
const LEFT = 84;
const RIGHT = 24;
const TOP = 50;
const HEIGHT = 330;
const LEGEND_LINE = 20;
const LEGEND_COLUMNS = 2;

const STYLE = `
  .page { fill: #ffffff } .ink { fill: #24292f } .frame { stroke: #8c959f; fill: none } .grid { stroke: #d8dee4 }
  .mark { stroke: #57606a; stroke-dasharray: 4 3 } text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 } .small { font-size: 12px } .hollow { fill: #ffffff }
  .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 } .c3 { stroke: #8250df } .c4 { stroke: #bf3989 }
  .f0 { fill: #0969da } .f1 { fill: #bc4c00 } .f2 { fill: #1a7f37 } .f3 { fill: #8250df } .f4 { fill: #bf3989 }
  @media (prefers-color-scheme: dark) {
    .page, .hollow { fill: #0d1117 } .ink, text { fill: #e6edf3 } .frame { stroke: #6e7681 } .grid { stroke: #2d333b }
    .mark { stroke: #9198a1 }
    .c0 { stroke: #58a6ff } .c1 { stroke: #f0883e } .c2 { stroke: #56d364 } .c3 { stroke: #bc8cff } .c4 { stroke: #f778ba }
    .f0 { fill: #58a6ff } .f1 { fill: #f0883e } .f2 { fill: #56d364 } .f3 { fill: #bc8cff } .f4 { fill: #f778ba }
  }`;

/** The plot as the text of an SVG file. */
export function svgFile(plot: Plot): string {
  const { height, parts } = draw(plot, 'inside');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(plot.title)}">`,
    `<style>${STYLE}\n</style>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/**
 * The plot as an element of an HTML page, without colours of its own. `id` is one of the page's.
 */
export function svgElement(plot: Plot, id: string): string {
  const { height, parts } = draw(plot, id);
  return [
    `<svg class="plot" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(plot.title)}">`,
    ...parts,
    '</svg>',
  ].join('\n');
}

/** All elements, and how high the picture is. */
function draw({ title, x, y, series, marks = [] }: Plot, clip: string): { height: number; parts: string[] } {
  const right = WIDTH - RIGHT;
  const bottom = TOP + HEIGHT;
  const atX = (value: number) => LEFT + position(x, value) * (right - LEFT);
  const atY = (value: number) => bottom - position(y, value) * HEIGHT;
  const parts: string[] = [];
  for (const tick of x.ticks) {
    const at = px(atX(tick));
    parts.push(`<line class="grid" x1="${at}" y1="${TOP}" x2="${at}" y2="${bottom}"/>`);
    parts.push(
      `<text class="small" x="${at}" y="${bottom + 18}" text-anchor="middle">${label(x, tick)}</text>`,
    );
  }
  for (const tick of y.ticks) {
    const at = atY(tick);
    parts.push(`<line class="grid" x1="${LEFT}" y1="${px(at)}" x2="${right}" y2="${px(at)}"/>`);
    parts.push(
      `<text class="small" x="${LEFT - 8}" y="${px(at + 4)}" text-anchor="end">${label(y, tick)}</text>`,
    );
  }
  parts.push(
    `<clipPath id="${clip}">`,
    `<rect x="${LEFT}" y="${TOP}" width="${right - LEFT}" height="${HEIGHT}"/>`,
    '</clipPath>',
  );
  parts.push(
    `<g clip-path="url(#${clip})">`,
    ...series.map((one) => drawSeries(one, atX, atY, bottom)),
    '</g>',
  );
  for (const mark of marks) {
    const at = px(atX(mark.x));
    const end = mark.anchor === 'end';
    const text = escaped(mark.label);
    parts.push(`<line class="mark" x1="${at}" y1="${TOP}" x2="${at}" y2="${bottom}"/>`);
    parts.push(
      `<text class="small" x="${px(atX(mark.x) + (end ? -6 : 6))}" y="${TOP + 16 + 16 * (mark.line ?? 0)}" text-anchor="${end ? 'end' : 'start'}">${text}</text>`,
    );
  }
  parts.push(`<rect class="frame" x="${LEFT}" y="${TOP}" width="${right - LEFT}" height="${HEIGHT}"/>`);
  parts.push(`<text class="title" x="${LEFT}" y="28">${escaped(title)}</text>`);
  const middle = (LEFT + right) / 2;
  parts.push(`<text x="${middle}" y="${bottom + 40}" text-anchor="middle">${escaped(x.label)}</text>`);
  const centre = TOP + HEIGHT / 2;
  parts.push(
    `<text transform="translate(20 ${centre}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
  );
  const legendTop = bottom + 64;
  const column = (right - LEFT) / LEGEND_COLUMNS;
  series.forEach((one, i) => {
    const left = LEFT + (i % LEGEND_COLUMNS) * column;
    const at = legendTop + Math.floor(i / LEGEND_COLUMNS) * LEGEND_LINE;
    const sample = one.kind === 'bars' ? [[left + 12, at - 9] as const] : swatch(one, left, at);
    parts.push(
      drawSeries(
        { ...one, points: sample },
        (v) => v,
        (v) => v,
        at,
      ),
    );
    parts.push(`<text class="small" x="${px(left + 34)}" y="${at}">${escaped(one.name)}</text>`);
  });
  const height = legendTop + Math.ceil(series.length / LEGEND_COLUMNS) * LEGEND_LINE;
  return { height, parts: [`<rect class="page" width="${WIDTH}" height="${height}" rx="6"/>`, ...parts] };
}

function drawSeries(
  series: Series,
  atX: (x: number) => number,
  atY: (y: number) => number,
  bottom: number,
): string {
  const { kind, colour, points } = series;
  const at = points.map(([x, y]) => [px(atX(x)), px(atY(y))] as const);
  switch (kind) {
    case 'line':
    case 'dashed': {
      const dash = kind === 'dashed' ? ' stroke-dasharray="7 4"' : '';
      const path = at.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('');
      return `<path class="c${colour}" fill="none" stroke-width="2"${dash} d="${path}"/>`;
    }
    case 'dots':
      return at.map(([x, y]) => `<circle class="f${colour}" cx="${x}" cy="${y}" r="4"/>`).join('');
    case 'rings':
      return at
        .map(([x, y]) => `<circle class="hollow c${colour}" stroke-width="1.8" cx="${x}" cy="${y}" r="3.6"/>`)
        .join('');
    case 'bars': {
      // As wide as the points are apart.
      const width = at.length > 1 ? Math.max(1, at[1][0] - at[0][0] - 0.5) : 8;
      return at
        .map(
          ([x, y]) =>
            `<rect class="f${colour}" opacity="0.75" x="${px(x - width / 2)}" y="${y}" width="${px(width)}" height="${px(Math.max(0, bottom - y))}"/>`,
        )
        .join('');
    }
  }
}

function swatch({ kind }: Series, left: number, at: number): Point[] {
  const y = at - 4;
  return kind === 'line' || kind === 'dashed'
    ? [
        [left, y],
        [left + 26, y],
      ]
    : [[left + 13, y]];
}

function label(axis: Axis, tick: number): string {
  return escaped(tickLabel(axis, tick));
}

function px(value: number): number {
  return Math.round(10 * value) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
