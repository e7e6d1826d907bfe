/**
 * A picture of one search by an index: the rows of the needle's grams, one cell for each block, the
 * blocks that all rows leave, and the log of which only these are read. As the plots of the papers,
 * it has its own background and two sets of colours.
 */

export interface SearchPicture {
  readonly needle: string;
  /** Grams of the needle. */
  readonly grams: number;
  /** The rows of the first grams. */
  readonly rows: readonly { readonly gram: string; readonly bits: readonly boolean[] }[];
  /** Whether the rows of all grams have the bit of a block. */
  readonly left: readonly boolean[];
  /** Whether a block contains the needle. */
  readonly holds: readonly boolean[];
}

const WIDTH = 760;
const LEFT = 150;
const CELL = 14;
const STEP = 15;
const TOP = 86;
const LINE = CELL + 4;

const STYLE = `
  .page { fill: #ffffff } text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 } .small { font-size: 12px } .code { font-family: ui-monospace, monospace }
  .zero { fill: #eaeef2 } .one { fill: #54aeff } .out { fill: #eaeef2 } .read { fill: #1a7f37 } .vain { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #e6edf3 }
    .zero, .out { fill: #21262d } .one { fill: #1f6feb } .read { fill: #56d364 } .vain { fill: #f0883e }
  }`;

export function searchPicture({ needle, grams, rows, left, holds }: SearchPicture): string {
  const parts: string[] = [];
  const text = (x: number, y: number, words: string, kind = 'small') =>
    parts.push(`<text class="${kind}" x="${x}" y="${y}">${words}</text>`);
  const cells = (y: number, height: number, kindOf: (block: number) => string) =>
    holds.forEach((_, block) => {
      parts.push(
        `<rect class="${kindOf(block)}" x="${LEFT + block * STEP}" y="${y}" width="${CELL}" height="${height}" rx="2"/>`,
      );
    });
  const named = (y: number, name: string, bits: readonly boolean[]) => {
    text(24, y + 12, name);
    cells(y, CELL, (block) => (bits[block] ? 'one' : 'zero'));
  };
  text(24, 30, 'How an index leaves blocks out', 'title');
  text(24, 54, `The needle ${needle} has ${grams} grams of five bytes, of which ${rows.length} are shown.`);
  text(24, 72, 'A row has one bit for each block: blue if the filter of the block has the bit of the gram.');
  rows.forEach(({ gram, bits }, i) => {
    const y = TOP + i * LINE;
    text(LEFT - 66, y + 12, gram, 'small code');
    cells(y, CELL, (block) => (bits[block] ? 'one' : 'zero'));
  });
  const after = TOP + rows.length * LINE + 16;
  const shown = holds.map((_, block) => rows.every(({ bits }) => bits[block]));
  named(after, `in all ${rows.length} rows`, shown);
  named(after + LINE, `in all ${grams} rows`, left);
  const logY = after + 2 * LINE + 16;
  text(24, logY + 20, 'the log');
  cells(logY, 30, (block) => (left[block] ? (holds[block] ? 'read' : 'vain') : 'out'));
  const count = left.filter(Boolean).length;
  const vain = left.filter((is, block) => is && !holds[block]).length;
  text(
    24,
    logY + 56,
    `Read: ${count} of ${holds.length} blocks (green). In vain: ${vain} (orange). The others are not unpacked.`,
  );
  const height = logY + 76;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="How an index leaves blocks out">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}" rx="6"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}
