/**
 * The index that a search without a server is compared with: one over all documents of all peers.
 * It is written as the definition reads, without postings, rounds or bounds.
 */

import type { Query } from '../../src/search/index.ts';
import { textTerms } from '../../src/search/terms/text-terms.ts';

export interface PeerDocument {
  readonly peer: string;
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

interface CountedDocument extends PeerDocument {
  readonly length: number;
  /** The places of the keys; those of the path are far from those of the content. */
  readonly places: ReadonlyMap<string, readonly number[]>;
}

export interface CentralResult {
  readonly score: number;
  readonly peer: string;
  readonly path: string;
}

export class CentralIndex {
  readonly #documents: readonly CountedDocument[];

  constructor(documents: readonly PeerDocument[]) {
    this.#documents = documents.map(counted);
  }

  /** The best documents, of the peers that take part. */
  search(query: Query, most: number, takesPart: (peer: string) => boolean = () => true): CentralResult[] {
    const all = this.#documents.filter(({ peer }) => takesPart(peer));
    const weights = query.keys.map((key) => {
      const having = all.filter(({ places }) => places.has(key)).length;
      return having === 0 ? 0 : Math.log(1 + all.length / having);
    });
    return all
      .filter((document) => matches(document, query))
      .map(({ peer, path, places, length }) => {
        const parts = query.keys.map((key, i) => {
          const count = places.get(key)?.length ?? 0;
          return count === 0 ? 0 : (1 + Math.log(count)) * weights[i];
        });
        return { score: parts.reduce((sum, part) => sum + part, 0) / Math.sqrt(length), peer, path };
      })
      .sort((a, b) => b.score - a.score || order(a.peer, b.peer) || order(a.path, b.path))
      .slice(0, most);
  }
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function counted(document: PeerDocument): CountedDocument {
  const places = new Map<string, number[]>();
  const add = (key: string, place: number) => {
    const known = places.get(key);
    if (known === undefined) places.set(key, [place]);
    else known.push(place);
  };
  let length = 0;
  for (const { term, position, isWhole } of textTerms(document.path)) {
    add(term, position);
    if (!isWhole) add(`name:${term}`, position);
    length++;
  }
  for (const { term, position } of textTerms(document.text)) {
    add(term, 1_000_000 + position);
    length++;
  }
  if (document.type !== '') add(`type:${document.type}`, 0);
  return { ...document, length: Math.max(1, length), places };
}

function matches({ places, type }: CountedDocument, { keys, required, phrases, types }: Query): boolean {
  if (!keys.some((key) => places.has(key))) return false;
  if (!required.every((key) => places.has(keys[key]))) return false;
  if (types.length > 0 && !types.includes(type)) return false;
  return phrases.every((phrase) =>
    (places.get(keys[phrase[0].key]) ?? []).some((start) =>
      phrase.every(({ key, offset }) => places.get(keys[key])?.includes(start + offset)),
    ),
  );
}
