/** The documents of a collection as files of peers, and its queries as the user would type them. */

import { createHash } from 'node:crypto';
import type { TextCollection } from '@bloomery/testkit/collections/text-collections';
import type { FolderDocument } from '../../src/search/index.ts';

export function filesOf({ name, documents }: TextCollection): FolderDocument[] {
  return documents.map(({ id, text }) => ({
    path: `${name}/${id}.txt`,
    type: 'txt',
    text,
    bytes: text.length,
    changed: 1_790_000_000,
    digest: createHash('sha256').update(text).digest('hex'),
  }));
}

/** The words of a query alone: the texts of the collections know no signs. */
export function plainQuery(text: string): string {
  return text.replace(/["+:]/g, ' ');
}
