/**
 * The score of a document for a query: PlanetP's similarity with the counts of all peers together.
 *
 *     score = Σ over the terms of the query (1 + ln f) · ln(1 + N / n) / √length
 *
 * f is how often the document has the term, n how many documents of all peers have it, N the number
 * of these documents, and the length is counted in terms. BM25 and others would work the same way:
 * all that the search needs of a score is that it is a sum over terms, each with a weight that all
 * peers agree on.
 *
 * The order of results: the higher score first, then the smaller name of the peer, then the smaller
 * path, both by UTF-16 code units. So the order never depends on who answered first.
 */

/** ln(1 + N / n), the weight of a term that n of N documents have. A term of none has weight 0. */
export function termWeight(documents: number, having: number): number {
  return having > 0 ? Math.log(1 + documents / having) : 0;
}

/** Sums in the order of the terms, so that owner and asker get the same number to the last bit. */
export function scoreOf(counts: readonly number[], weights: readonly number[], length: number): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) if (counts[i] > 0) sum += (1 + Math.log(counts[i])) * weights[i];
  return sum / Math.sqrt(length);
}

export interface RankedResult {
  readonly score: number;
  readonly peer: string;
  readonly path: string;
}

export function compareResults(a: RankedResult, b: RankedResult): number {
  return b.score - a.score || compareText(a.peer, b.peer) || compareText(a.path, b.path);
}

/** Compares texts by code units, on every machine alike. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
