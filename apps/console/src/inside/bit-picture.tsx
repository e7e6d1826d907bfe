/**
 * Cells of a filter as a picture on a canvas, with the same in words beside it. A bit is a full or
 * an empty square; a counter is filled as high as it counts.
 */

import { useEffect, useRef, useState } from 'preact/hooks';

interface BitPictureProps {
  /** The value of each cell. */
  readonly cells: ArrayLike<number>;
  /** The value of a full cell. */
  readonly most: number;
  readonly columns: number;
  /** Positions of the key in question. */
  readonly marked?: readonly number[];
  /** Positions that changed since a marked moment. */
  readonly changed?: readonly number[];
  /** The picture in words. */
  readonly text: string;
}

/** Pixels of the canvas for each cell; CSS fits the whole to its column. */
const WIDEST = 1024;

export function BitPicture({ cells, most, columns, marked = [], changed = [], text }: BitPictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useColourScheme();
  const rows = Math.ceil(cells.length / columns);
  const cell = Math.max(4, Math.floor(WIDEST / columns));
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context == null || canvas.current === null) return;
    const colour = coloursOf(canvas.current);
    context.clearRect(0, 0, columns * cell, rows * cell);
    const gap = cell >= 8 ? 1 : 0;
    for (let i = 0; i < cells.length; i++) {
      const [x, y] = [(i % columns) * cell, Math.floor(i / columns) * cell];
      const side = cell - 2 * gap;
      context.fillStyle = colour('--faint');
      context.fillRect(x + gap, y + gap, side, side);
      const height = Math.ceil((side * Math.min(cells[i], most)) / most);
      context.fillStyle = colour(cells[i] >= most && most > 1 ? '--bad' : '--c0');
      context.fillRect(x + gap, y + gap + side - height, side, height);
    }
    outline(context, changed, columns, cell, colour('--c1'));
    outline(context, marked, columns, cell, colour('--c4'));
  }, [cells, most, columns, marked, changed, scheme, rows, cell]);
  return (
    <figure class="bits">
      <canvas ref={canvas} width={columns * cell} height={rows * cell} role="img" aria-label={text} />
      <figcaption>{text}</figcaption>
    </figure>
  );
}

function outline(
  context: CanvasRenderingContext2D,
  positions: readonly number[],
  columns: number,
  cell: number,
  colour: string,
): void {
  const width = Math.max(1.5, cell / 7);
  context.strokeStyle = colour;
  context.lineWidth = width;
  for (const i of positions) {
    const [x, y] = [(i % columns) * cell, Math.floor(i / columns) * cell];
    context.strokeRect(x + width / 2, y + width / 2, cell - width, cell - width);
  }
}

function coloursOf(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  const known = new Map<string, string>();
  return (name) => {
    let colour = known.get(name);
    if (colour === undefined) known.set(name, (colour = style.getPropertyValue(name).trim()));
    return colour;
  };
}

/** Draws again when the viewer changes between light and dark. */
function useColourScheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => setDark(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  return isDark;
}

/** The cells as rows of digits, for readers who want to check or copy them. */
export function CellText({ cells, columns }: { cells: ArrayLike<number>; columns: number }) {
  const rows = Array.from({ length: Math.ceil(cells.length / columns) }, (_, row) => {
    const from = row * columns;
    const digits = Array.from({ length: Math.min(columns, cells.length - from) }, (_unused, i) =>
      cells[from + i].toString(16),
    );
    return `${String(from).padStart(5)}  ${digits.join('')}`;
  });
  return (
    <details>
      <summary>The cells as text</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long rows scroll, also by keyboard */}
      <pre class="cells" tabIndex={0} role="region" aria-label="The cells as text">
        {rows.join('\n')}
      </pre>
    </details>
  );
}
