/**
 * Services described by attributes, as sets of pairs such as `type=printer` and `floor=3`, and the
 * keys that stand for them in filters. There are two ways:
 *
 * - One key per pair. A query is itself a filter of its pairs, and `isSubsetOf` asks all of them at
 *   once. It takes any number of attributes, but a filter of many services also has a query whose
 *   pairs belong to different services.
 * - One key per subset of up to some pairs (Czerwinski et al., MobiCom 1999). A query of that
 *   length is one key, and pairs of different services do not mix. A service with a attributes has
 *   a + a(a-1)/2 + … keys: 8 attributes have 8, 36 or 92 keys for subsets of up to 1, 2 or 3.
 *
 * Pairs are sorted, so that the order in which they are written does not matter. Names and values
 * are joined with their lengths, so that no two sets of pairs have the same key.
 */

export type Attributes = Readonly<Record<string, string>>;

/** A key for each pair. */
export function pairKeys(attributes: Attributes): string[] {
  return Object.keys(attributes)
    .sort()
    .map((name) => `${name.length}:${name}=${attributes[name]}`);
}

/** A key for each subset of 1 to `most` pairs. */
export function subsetKeys(attributes: Attributes, most: number): string[] {
  const pairs = pairKeys(attributes);
  const keys: string[] = [];
  const extend = (from: number, chosen: readonly string[]) => {
    if (chosen.length > 0) keys.push(setKey(chosen));
    if (chosen.length === most) return;
    for (let i = from; i < pairs.length; i++) extend(i + 1, [...chosen, pairs[i]]);
  };
  extend(0, []);
  return keys;
}

/**
 * The keys of a query: one if it has at most `most` pairs, or else several that cover all pairs.
 */
export function queryKeys(query: Attributes, most: number): string[] {
  const pairs = pairKeys(query);
  const keys: string[] = [];
  for (let i = 0; i < pairs.length; i += most) {
    // The last subset is filled up from the front, because longer subsets mix less.
    const from = Math.max(0, Math.min(i, pairs.length - most));
    keys.push(setKey(pairs.slice(from, from + most)));
  }
  return keys;
}

/** Whether a service has all pairs of a query. */
export function matches(service: Attributes, query: Attributes): boolean {
  return Object.entries(query).every(([name, value]) => service[name] === value);
}

function setKey(pairs: readonly string[]): string {
  return pairs.map((pair) => `${pair.length};${pair}`).join('');
}
