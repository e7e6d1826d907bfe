/** A fair shuffle from random bytes: Fisher and Yates, with numbers that have no bias. */

/** Gives this many random bytes: `crypto.getRandomValues` in production. */
export type RandomSource = (length: number) => Uint8Array;

/** Shuffles the list in place, and returns it. */
export function shuffle<T>(list: T[], random: RandomSource): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = below(i + 1, random);
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

/** A number from 0 to below `end`. Values above the largest multiple of `end` are drawn again. */
function below(end: number, random: RandomSource): number {
  const limit = 2 ** 32 - (2 ** 32 % end);
  for (;;) {
    const bytes = random(4);
    const value = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
    if (value < limit) return value % end;
  }
}
