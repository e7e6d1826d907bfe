/**
 * The four classic collections of texts with queries and judgements (CACM, CISI, Cranfield,
 * Medline), from the folder `collections` of BLOOMERY_DATA. They have no licence, so nothing of
 * them is in the repository.
 *
 * Their files differ in small ways: the queries of Cranfield are counted by position, its grade -1
 * means "not relevant", and Medline ends with an empty record.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type CollectionName = 'cacm' | 'cisi' | 'cran' | 'med';

export const COLLECTIONS: readonly CollectionName[] = ['cacm', 'cisi', 'cran', 'med'];

export interface TextCollection {
  readonly name: CollectionName;
  readonly documents: readonly { readonly id: number; readonly text: string }[];
  readonly queries: readonly CollectionQuery[];
}

interface CollectionQuery {
  readonly id: number;
  readonly text: string;
  /** The ids of the documents that were judged relevant. */
  readonly relevant: ReadonlySet<number>;
}

/** The folder of the collections, or null if the machine has none. */
export function collectionsFolder(): string | null {
  const data = process.env.BLOOMERY_DATA;
  if (data === undefined || data === '') return null;
  const folder = join(data, 'collections');
  return existsSync(folder) ? folder : null;
}

export function readCollection(folder: string, name: CollectionName): TextCollection {
  const { documents, queries, judgements } = FILES[name];
  const read = (file: string) => readFileSync(join(folder, name, file), 'latin1');
  const relevant = new Map<number, Set<number>>();
  for (const line of read(judgements).split('\n')) {
    const [query, document, grade] = line.trim().split(/\s+/).map(Number);
    if (!(document >= 0)) continue;
    // Medline has a column of zeros before the document.
    const [id, isRelevant] = name === 'med' ? [grade, true] : [document, name !== 'cran' || grade > 0];
    if (isRelevant) relevant.set(query, (relevant.get(query) ?? new Set()).add(id));
  }
  const asked = records(read(queries)).map(({ id, fields }, i) => {
    const number = name === 'cran' ? i + 1 : id;
    return { id: number, text: textOf(fields), relevant: relevant.get(number) ?? new Set<number>() };
  });
  return {
    name,
    documents: records(read(documents))
      .map(({ id, fields }) => ({ id, text: textOf(fields) }))
      .filter(({ text }) => text !== ''),
    queries: asked.filter(({ relevant }) => relevant.size > 0),
  };
}

const FILES: Record<CollectionName, { documents: string; queries: string; judgements: string }> = {
  cacm: { documents: 'cacm.all', queries: 'query.text', judgements: 'qrels.text' },
  cisi: { documents: 'CISI.ALL', queries: 'CISI.QRY', judgements: 'CISI.REL' },
  cran: { documents: 'cran.all.1400', queries: 'cran.qry', judgements: 'cranqrel' },
  med: { documents: 'MED.ALL', queries: 'MED.QRY', judgements: 'MED.REL' },
};

interface CollectionRecord {
  readonly id: number;
  readonly fields: ReadonlyMap<string, string>;
}

/** Records begin with `.I number`, and their fields with a dot and a letter. */
function records(text: string): CollectionRecord[] {
  return text
    .split(/^\.I\s+/m)
    .slice(1)
    .map((record) => {
      const parts = record.split(/^\.([A-Z])\s*$/m);
      const fields = new Map<string, string>();
      for (let i = 1; i + 1 < parts.length; i += 2) {
        const [field, content] = [parts[i], parts[i + 1].trim()];
        if (content !== '') fields.set(field, `${fields.get(field) ?? ''}${content}\n`);
      }
      return { id: Number.parseInt(parts[0], 10), fields };
    });
}

/** Title, text and keywords; authors, dates and references are left out. */
function textOf(fields: ReadonlyMap<string, string>): string {
  return ['T', 'W', 'K'].map((field) => fields.get(field) ?? '').join('');
}
