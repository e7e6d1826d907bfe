/**
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input",
 * 2002): the shortest list that can be reached by leaving parts out while a test still fails. The
 * result is 1-minimal: without any one of its items the test passes. It need not be the shortest of
 * all.
 */
export async function minimise<T>(
  items: readonly T[],
  stillFails: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = items;
  let parts = 2;
  while (kept.length > 0) {
    const size = Math.ceil(kept.length / parts);
    let isShorter = false;
    for (let at = 0; at < kept.length; at += size) {
      const rest = [...kept.slice(0, at), ...kept.slice(at + size)];
      if (!(await stillFails(rest))) continue;
      kept = rest;
      parts = Math.max(parts - 1, 2);
      isShorter = true;
      break;
    }
    if (isShorter) continue;
    if (size === 1) break;
    parts = Math.min(2 * parts, kept.length);
  }
  return kept;
}
