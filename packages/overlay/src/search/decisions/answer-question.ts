/**
 * The answer of one folder to a question: how many of its documents have each key, and its best
 * documents by the weights of the question. It is what a peer says in the score round.
 *
 * The answer has counts and no scores. The asker gets the weights of all peers only with their
 * answers, and then computes the exact scores from the counts.
 */

import type { FolderIndex, Places } from '../terms/folder-index.ts';
import type { Phrase } from '../terms/query.ts';
import { compareText, scoreOf, termWeight } from './score.ts';

interface QuestionKey {
  readonly key: string;
  /** Documents of all peers that have the key, as far as the asker knows. */
  readonly having: number;
  readonly isRequired: boolean;
}

export interface Question {
  readonly keys: readonly QuestionKey[];
  readonly phrases: readonly Phrase[];
  readonly types: readonly string[];
  /** Documents of all peers, as far as the asker knows. */
  readonly documents: number;
  /** Documents below this score are of no use to the asker. */
  readonly floor: number;
  /** The most documents of the answer. */
  readonly most: number;
}

export interface Hit {
  readonly handle: number;
  /** The number of terms of the document. */
  readonly length: number;
  /** How often the document has each key of the question. */
  readonly counts: readonly number[];
}

export interface Answer {
  /** Documents of this folder. */
  readonly documents: number;
  /** Documents of this folder that have each key. */
  readonly having: readonly number[];
  /** Documents that match and reach the floor. */
  readonly matching: number;
  /** The best of them: the highest score first, then the smaller path. */
  readonly hits: readonly Hit[];
}

export function answerQuestion(index: FolderIndex, question: Question): Answer {
  const { keys, floor, most } = question;
  const postings = keys.map(({ key }) => index.postings(key));
  const weights = keys.map(({ having }) => termWeight(question.documents, having));
  const scored: { hit: Hit; score: number; path: string }[] = [];
  for (const handle of candidates(postings, keys)) {
    const document = index.document(handle)!;
    if (!isOfType(question.types, document.type)) continue;
    const places = postings.map((posting) => posting.get(handle));
    if (!question.phrases.every((phrase) => hasPhrase(places, phrase))) continue;
    const counts = places.map(countOf);
    const score = scoreOf(counts, weights, document.length);
    if (score >= floor)
      scored.push({ hit: { handle, length: document.length, counts }, score, path: document.path });
  }
  scored.sort((a, b) => b.score - a.score || compareText(a.path, b.path));
  return {
    documents: index.size,
    having: postings.map((posting) => posting.size),
    matching: scored.length,
    hits: scored.slice(0, most).map(({ hit }) => hit),
  };
}

/** The documents that have all required keys, or any key if none is required. */
function* candidates(
  postings: readonly ReadonlyMap<number, Places>[],
  keys: readonly QuestionKey[],
): Generator<number> {
  const needed = postings.filter((_, i) => keys[i].isRequired).sort((a, b) => a.size - b.size);
  if (needed.length > 0) {
    for (const handle of needed[0].keys()) if (needed.every((each) => each.has(handle))) yield handle;
    return;
  }
  const seen = new Set<number>();
  for (const posting of postings)
    for (const handle of posting.keys()) {
      if (seen.has(handle)) continue;
      seen.add(handle);
      yield handle;
    }
}

function isOfType(types: readonly string[], type: string): boolean {
  return types.length === 0 || types.includes(type);
}

function countOf(places: Places | undefined): number {
  if (places === undefined) return 0;
  return typeof places === 'number' ? 1 : places.length;
}

/** Whether the words of a phrase stand at their distances anywhere in a document. */
function hasPhrase(places: readonly (Places | undefined)[], phrase: Phrase): boolean {
  const listed = phrase.map(({ key }) => listOf(places[key]));
  if (listed.some((list) => list.length === 0)) return false;
  const [first, ...others] = listed.map((list, i) => ({ list, offset: phrase[i].offset }));
  const sets = others.map(({ list, offset }) => ({ set: new Set(list), offset: offset - first.offset }));
  return first.list.some((place) => sets.every(({ set, offset }) => set.has(place + offset)));
}

function listOf(places: Places | undefined): readonly number[] {
  if (places === undefined) return [];
  return typeof places === 'number' ? [places] : places;
}
