/**
 * Squares of a square: the geometry of geographic routing (survey 6.3, Hsiao). The smallest
 * squares, cells, have side 1, and the whole has side 2^depth. So there are depth + 1 levels; a
 * square of level l has side 2^l, and every square but the whole has three siblings in its parent.
 */

export interface Cell {
  readonly x: number;
  readonly y: number;
}

/** A square by its level and its place in the grid of that level. */
export interface Square extends Cell {
  readonly level: number;
}

/** The square of a level that a cell lies in. */
export function squareOf({ x, y }: Cell, level: number): Square {
  return { level, x: x >> level, y: y >> level };
}

/** The other three squares of the same parent. */
export function siblingsOf({ level, x, y }: Square): Square[] {
  return [
    { level, x: x ^ 1, y },
    { level, x, y: y ^ 1 },
    { level, x: x ^ 1, y: y ^ 1 },
  ];
}

/** The cell in the middle of a square. */
export function centreOf({ level, x, y }: Square): Cell {
  const half = level === 0 ? 0 : 2 ** (level - 1);
  return { x: x * 2 ** level + half, y: y * 2 ** level + half };
}

/** The level of the smallest square that holds both cells. */
export function commonLevel(a: Cell, b: Cell): number {
  let level = 0;
  while (a.x >> level !== b.x >> level || a.y >> level !== b.y >> level) level++;
  return level;
}

/** Hops between two cells: each goes to one of four neighbours. */
export function hopsBetween(a: Cell, b: Cell): number {
  return Math.abs(a.x - b.x) + Math.abs(a.y - b.y);
}

export function squareName({ level, x, y }: Square): string {
  return `${level}/${x}/${y}`;
}
