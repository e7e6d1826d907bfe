/**
 * The decisions of one search: whom to ask, with which weights, when the ranking is settled, and
 * from whom to fetch documents. It is pure; the searcher beside this room sends what it says.
 *
 * What it promises. The result is the one that a central index over the folders of all sources that
 * answered would give: same documents, same scores, same order (score.ts). A source that fails at
 * any point is taken out with everything that it said, so it costs its own results alone.
 *
 * How. A score needs the weights of all sources together, which no source knows. PlanetP ranks by
 * weights guessed from the filters, so its first documents are not those of a central index. We ask
 * in one round, with guessed weights, for counts instead of scores: each source tells how many
 * documents have each key, and the counts of its best documents. Their exact scores follow. A
 * document that a source left out has, by the guessed weights, at most the score of the last one
 * that it named. No true weight is above r times the guessed one, so its true score is at most r
 * times that. A source whose bound does not reach the k-th best score is settled. The others are
 * asked once more, with the exact weights. Then the best documents are fetched from the sources
 * that have them.
 *
 * A source that cannot have any key is not asked. Its number of documents is known from the
 * directory.
 *
 * Lies. A source whose counts contradict themselves has failed. So has one that claims more
 * documents than its summary has room for (`mostDocuments`). The remaining lies have no more effect
 * than files that the liar could put into its own folder.
 */

import type { Query } from '../terms/query.ts';
import type { Answer, Hit, Question } from './answer-question.ts';
import { compareText, scoreOf, termWeight } from './score.ts';

export interface RankSource {
  /** The name of the peer. It orders results of equal score. */
  readonly peer: string;
  /** Documents of its folder, by the directory. */
  readonly documents: number;
  /** The most documents that it may claim. */
  readonly mostDocuments: number;
  /** For each key of the query, whether its folder may have it. */
  readonly maybe: readonly boolean[];
  /** Whether a folder may have an ending. */
  readonly mayHaveType: boolean;
}

/** A document that was ranked, before it is fetched. */
export interface RankedHit {
  /** Place of its source in the list. */
  readonly source: number;
  readonly handle: number;
  readonly score: number;
}

export type RankStep =
  /** Send these questions. Each source is named once. */
  | { readonly kind: 'ask'; readonly questions: ReadonlyMap<number, Question> }
  /** Fetch these documents, by their handles. */
  | { readonly kind: 'fetch'; readonly wanted: ReadonlyMap<number, readonly number[]> }
  | { readonly kind: 'done' };

interface SourceState {
  readonly source: RankSource;
  /** The keys of the query that it is asked about. */
  readonly keys: readonly number[];
  /** Whether a document of it may match. If not, it is asked for its counts alone. */
  readonly canMatch: boolean;
  question: Question | null;
  isAnswered: boolean;
  /** Counts of the first answer, from which the exact weights are computed. */
  having: readonly number[];
  documents: number;
  /** Documents of the latest answer, with counts for all keys of the query. */
  hits: readonly Hit[];
  /** Documents that match, by the first answer. */
  matching: number;
  /** Documents that reach the floor of the latest question. */
  listed: number;
  hasFailed: boolean;
  readonly fetched: Set<number>;
  readonly gone: Set<number>;
}

/** A share that covers the rounding of all the arithmetic in a bound. */
const SLACK = 1 + 1e-9;

export class RankRound {
  readonly #query: Query;
  readonly #most: number;
  readonly #states: readonly SourceState[];
  #weights: readonly number[] = [];
  #documents = 0;
  #having: readonly number[] = [];
  #isBegun = false;
  /** Questions beyond the first of a source. */
  followUps = 0;

  constructor(query: Query, sources: readonly RankSource[], most: number) {
    this.#query = query;
    this.#most = most;
    this.#states = sources.map((source) => {
      const canMatch =
        query.required.every((key) => source.maybe[key]) &&
        (query.types.length === 0 || source.mayHaveType) &&
        source.maybe.some(Boolean);
      // The weights need the counts of keys even from sources where no document matches.
      const keys = query.keys.flatMap((_, key) => (source.maybe[key] ? [key] : []));
      return {
        source,
        keys,
        canMatch,
        question: null,
        isAnswered: false,
        having: query.keys.map(() => 0),
        documents: source.documents,
        hits: [],
        matching: 0,
        listed: 0,
        hasFailed: false,
        fetched: new Set(),
        gone: new Set(),
      };
    });
  }

  /**
   * The next step. Call it when every question and every fetch of the step before was answered or
   * failed.
   */
  next(): RankStep {
    if (!this.#isBegun) {
      this.#isBegun = true;
      const questions = this.#firstQuestions();
      if (questions.size > 0) return { kind: 'ask', questions };
    }
    this.#weigh();
    const questions = this.#followUps();
    if (questions.size > 0) {
      this.followUps += questions.size;
      return { kind: 'ask', questions };
    }
    const wanted = new Map<number, number[]>();
    for (const { source, handle } of this.ranked()) {
      if (this.#states[source].fetched.has(handle)) continue;
      const handles = wanted.get(source) ?? [];
      handles.push(handle);
      wanted.set(source, handles);
    }
    return wanted.size > 0 ? { kind: 'fetch', wanted } : { kind: 'done' };
  }

  /** Takes an answer. Returns the reason if it contradicts itself; then the source has failed. */
  answered(source: number, answer: Answer): string | null {
    const state = this.#states[source];
    const problem = contradiction(answer, state.question!, state.source.mostDocuments);
    if (problem !== null) {
      this.failed(source);
      return problem;
    }
    const counts = (hit: Hit) => {
      const all = this.#query.keys.map(() => 0);
      for (const [i, key] of state.keys.entries()) all[key] = hit.counts[i];
      return { ...hit, counts: all };
    };
    if (!state.isAnswered) {
      state.isAnswered = true;
      const having = this.#query.keys.map(() => 0);
      for (const [i, key] of state.keys.entries()) having[key] = answer.having[i];
      state.having = having;
      state.documents = answer.documents;
      state.matching = state.canMatch ? answer.matching : 0;
    }
    state.hits = answer.hits.map(counts);
    state.listed = answer.matching;
    return null;
  }

  /** Takes a source out, with all that it said. */
  failed(source: number): void {
    const state = this.#states[source];
    state.hasFailed = true;
    state.hits = [];
    state.matching = 0;
  }

  /** Notes which of the wanted documents came. The others are gone from their folder. */
  fetched(source: number, wanted: readonly number[], came: readonly number[]): void {
    const { fetched, gone } = this.#states[source];
    for (const handle of wanted) (came.includes(handle) ? fetched : gone).add(handle);
  }

  /**
   * The best documents, at least as many as asked for, if that many exist. Documents of the same
   * source that tie with the last one follow it, because ties within a source are ordered by path,
   * and only the source knows the paths.
   */
  ranked(): RankedHit[] {
    const all = this.#scored();
    if (all.length <= this.#most) return all;
    const last = all[this.#most - 1];
    // Ties of one source are ordered by path after the fetch. Ties of later sources come behind
    // them.
    return all.filter(
      ({ score, source }, i) => i < this.#most || (score === last.score && source === last.source),
    );
  }

  /** Documents of the sources that did not fail. */
  get documents(): number {
    return this.#documents;
  }

  /** Documents that match, of all sources that did not fail. */
  get matching(): number {
    return this.#states.reduce((sum, { matching }) => sum + matching, 0);
  }

  #firstQuestions(): Map<number, Question> {
    const { length } = this.#states;
    const documents = Math.max(
      1,
      sumOf(this.#states, ({ source }) => source.documents),
    );
    const guessed = this.#query.keys.map((_, key) => {
      const passing = sumOf(this.#states, ({ source }) => (source.maybe[key] ? 1 : 0));
      // This many documents, spread at random over the sources, would be in `passing` of them.
      const spread = passing < length ? -length * Math.log(1 - passing / length) : documents;
      return Math.min(documents, Math.max(1, Math.round(spread)));
    });
    const questions = new Map<number, Question>();
    // Nothing is sent for words that no source has.
    if (!this.#states.some(({ canMatch }) => canMatch)) return questions;
    for (const [source, state] of this.#states.entries()) {
      if (state.keys.length === 0) continue;
      const most = state.canMatch ? this.#most : 0;
      state.question = this.#question(state, documents, guessed, 0, most);
      questions.set(source, state.question);
    }
    return questions;
  }

  #question(
    { keys }: SourceState,
    documents: number,
    having: readonly number[],
    floor: number,
    most: number,
  ): Question {
    const { required, phrases, types, keys: all } = this.#query;
    const place = new Map(keys.map((key, i) => [key, i]));
    // A source that lacks a word of a phrase has no match, and is asked for its counts alone.
    const known = phrases.filter((phrase) => phrase.every(({ key }) => place.has(key)));
    return {
      keys: keys.map((key) => ({
        key: all[key],
        having: having[key],
        isRequired: required.includes(key),
      })),
      phrases: known.map((phrase) => phrase.map(({ key, offset }) => ({ key: place.get(key)!, offset }))),
      types,
      documents,
      floor,
      most,
    };
  }

  #weigh(): void {
    const live = this.#states.filter(({ hasFailed }) => !hasFailed);
    this.#documents = sumOf(live, ({ documents }) => documents);
    this.#having = this.#query.keys.map((_, key) => sumOf(live, ({ having }) => having[key]));
    this.#weights = this.#having.map((having) => termWeight(this.#documents, having));
  }

  #scored(): RankedHit[] {
    const all: (RankedHit & { place: number })[] = [];
    for (const [source, { hits, gone, hasFailed }] of this.#states.entries()) {
      if (hasFailed) continue;
      for (const [place, { handle, counts, length }] of hits.entries())
        if (!gone.has(handle))
          all.push({ source, handle, score: scoreOf(counts, this.#weights, length), place });
    }
    const peerOf = (source: number) => this.#states[source].source.peer;
    return all.sort(
      (a, b) =>
        b.score - a.score ||
        compareText(peerOf(a.source), peerOf(b.source)) ||
        a.source - b.source ||
        a.place - b.place,
    );
  }

  #followUps(): Map<number, Question> {
    const scored = this.#scored();
    const floor = scored.length < this.#most ? 0 : scored[this.#most - 1].score;
    const questions = new Map<number, Question>();
    for (const [source, state] of this.#states.entries()) {
      if (state.hasFailed || !this.#mayReach(state, floor)) continue;
      state.question = this.#question(state, this.#documents, this.#having, floor, this.#most);
      questions.set(source, state.question);
    }
    return questions;
  }

  /** Whether a document that a source left out may be among the best. */
  #mayReach({ question, hits, listed, keys }: SourceState, floor: number): boolean {
    if (question === null || question.most === 0) return false;
    // The documents that it left out are behind its last one, or below the floor of its question.
    const isCut = listed > hits.length;
    if (!isCut && question.floor <= 0) return false;
    let [least, largest] = [Number.POSITIVE_INFINITY, 0];
    const before = question.keys.map(({ having }) => termWeight(question.documents, having));
    for (const [i, key] of keys.entries()) {
      const ratio = this.#weights[key] === 0 ? 1 : this.#weights[key] / before[i];
      least = Math.min(least, ratio);
      largest = Math.max(largest, ratio);
    }
    // With one ratio for all keys, the order of the answer is the true one.
    if (largest <= least * SLACK && hits.length >= this.#most) return false;
    if (isCut) {
      const last = hits.at(-1)!;
      const counts = keys.map((key) => last.counts[key]);
      return scoreOf(counts, before, last.length) * largest * SLACK >= floor;
    }
    // Documents below the floor are strictly below it. If the weights were exact already, that
    // settles the source.
    if (least === 1 && largest === 1) return question.floor > floor;
    return question.floor * largest * SLACK >= floor;
  }
}

/** The reason why an answer cannot be true, or null. */
function contradiction(answer: Answer, question: Question, mostDocuments: number): string | null {
  const { documents, having, matching, hits } = answer;
  if (documents > mostDocuments)
    return `${documents} documents, where its summary has room for ${mostDocuments}`;
  if (having.length !== question.keys.length)
    return `${having.length} counts for ${question.keys.length} keys`;
  if (having.some((count) => count > documents)) return 'more documents with a word than documents';
  if (matching > documents) return 'more matching documents than documents';
  if (hits.length !== Math.min(question.most, matching))
    return `${hits.length} documents of ${matching}, where ${question.most} were asked for`;
  if (new Set(hits.map(({ handle }) => handle)).size < hits.length) return 'a document twice';
  for (const { counts, length } of hits) {
    if (counts.length !== question.keys.length) return 'a document with other counts';
    const words = counts.filter((_, i) => !question.keys[i].key.includes(':'));
    if (words.reduce((sum, count) => sum + count, 0) > length) return 'a document with more words than words';
    for (const [i, { isRequired }] of question.keys.entries())
      if (isRequired && counts[i] === 0) return 'a document without a word that must be there';
    if (counts.some((count, i) => count > 0 && having[i] === 0)) return 'a word that no document has';
    if (counts.every((count) => count === 0)) return 'a document without any of the words';
  }
  return null;
}

function sumOf<T>(all: readonly T[], value: (each: T) => number): number {
  return all.reduce((sum, each) => sum + value(each), 0);
}
