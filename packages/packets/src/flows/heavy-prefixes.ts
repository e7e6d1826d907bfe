/**
 * Hierarchical heavy prefixes (Cormode, Korn, Muthukrishnan and Srivastava, VLDB 2003): the IPv4
 * prefixes of any length that have at least a share of all bytes beside the longer prefixes of the
 * list. A host that sends a tenth of the bytes is listed once, and not again as its /31, its /30
 * and so on; a /16 of a thousand small hosts is listed although none of them is.
 *
 * The walk asks a function for sums. A sum may be too high by `error`, never too low. The bytes of
 * a prefix alone are then between two bounds, and the upper one decides. So a prefix outside the
 * list has less than the share beside the longer prefixes of the list. With error 0 the list has at
 * most 1/share prefixes. With an error it can hold a prefix that is a little too light, which then
 * stands in place of a shorter one.
 */

export interface HeavyPrefix {
  /** First address of the prefix, as a number. */
  readonly address: number;
  readonly length: number;
  /** Upper bound on its bytes. */
  readonly atMost: number;
  /** Upper bound on its bytes without those of the longer prefixes of the list. */
  readonly aloneAtMost: number;
  /** Listed prefixes around it. */
  readonly depth: number;
}

/** Finds the prefixes, each before the longer ones inside it, otherwise by address. */
export function findHeavyPrefixes(
  sum: (address: number, length: number) => number,
  least: number,
  error: number,
): HeavyPrefix[] {
  /** Lists the prefixes inside a prefix. `below` is the least that those without a parent have. */
  const visit = (address: number, length: number): { list: HeavyPrefix[]; below: number } => {
    const atMost = sum(address, length);
    // A prefix inside this one has no more.
    if (atMost < least || atMost === 0) return { list: [], below: 0 };
    const halves =
      length === 32 ? [] : [visit(address, length + 1), visit(address + 2 ** (31 - length), length + 1)];
    const list = halves.flatMap((half) => half.list);
    const below = halves.reduce((total, half) => total + half.below, 0);
    const aloneAtMost = atMost - below;
    if (aloneAtMost < least) return { list, below };
    const inside = list.map((prefix) => ({ ...prefix, depth: prefix.depth + 1 }));
    return {
      list: [{ address, length, atMost, aloneAtMost, depth: 0 }, ...inside],
      below: Math.max(below, atMost - error),
    };
  };
  return visit(0, 0).list;
}
