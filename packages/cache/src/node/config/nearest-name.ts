/**
 * Suggests a known name for an unknown one: the one with the fewest edits (optimal string
 * alignment: a swap of neighbours counts as one), if they are few enough for its length. `memroy`
 * finds `memory`; `x` finds nothing.
 */

export function nearestName(wrong: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const edits = distance(plain(wrong), plain(name));
    if (edits < least && edits <= Math.max(1, Math.floor(name.length / 3))) {
      best = name;
      least = edits;
    }
  }
  return best;
}

/** ` Did you mean memory?`, or an empty text. */
export function didYouMean(wrong: string, known: Iterable<string>): string {
  const name = nearestName(wrong, known);
  return name === undefined ? '' : ` Did you mean ${name}?`;
}

/** Makes `head-bytes`, `head_bytes` and `headBytes` equal, because users confuse them. */
function plain(name: string): string {
  return name.slice(0, 64).toLowerCase().replaceAll(/[-_]/g, '');
}

function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length];
}
