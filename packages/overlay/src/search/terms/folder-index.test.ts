import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { FolderIndex } from './folder-index.ts';

test('FolderIndex finds words of the content, of the path and the ending', () => {
  const index = new FolderIndex();
  const { handle, length } = index.put({
    path: 'notes/Bloom.md',
    type: 'md',
    text: 'counting filters count',
  });
  expect(index.postings('count').get(handle)).toHaveLength(2);
  expect([...index.postings('bloom').keys()]).toEqual([handle]);
  expect([...index.postings('name:bloom').keys()]).toEqual([handle]);
  expect([...index.postings('type:md').keys()]).toEqual([handle]);
  expect(index.postings('name:filter').size).toBe(0);
  // notes, bloom, md; count, filter, count
  expect(length).toBe(6);
});

test('FolderIndex equals an index that is built again, after any changes, and tells its keys', () => {
  for (let seed = 1; seed <= withEffort(10, 3); seed++) {
    const keys = new Set<string>();
    const onKey = (key: string, isThere: boolean) => {
      expect(keys.has(key)).toBe(!isThere);
      if (isThere) keys.add(key);
      else keys.delete(key);
    };
    const index = new FolderIndex({ onKey });
    const texts = new Map<string, string>();
    let state = seed;
    const draw = (below: number) => (state = (state * 16807) % 2147483647) % below;
    for (let step = 0; step < 60; step++) {
      const path = `f${draw(8)}.txt`;
      if (draw(3) === 0) {
        expect(index.remove(path)).toBe(texts.delete(path));
      } else {
        const text = Array.from({ length: draw(6) }, () => `w${draw(9)}`).join(' ');
        texts.set(path, text);
        index.put({ path, type: 'txt', text });
      }
      const again = new FolderIndex();
      for (const [path, text] of texts) again.put({ path, type: 'txt', text });
      expect([...keys].sort()).toEqual([...again.keys()].sort());
      expect(index.size).toBe(texts.size);
      for (const key of keys) expect(pathsOf(index, key)).toEqual(pathsOf(again, key));
    }
  }
});

function pathsOf(index: FolderIndex, key: string) {
  return [...index.postings(key)].map(([handle, places]) => [index.document(handle)!.path, places]).sort();
}

test('FolderIndex stops at the most terms of a document', () => {
  const index = new FolderIndex({ mostTerms: 3 });
  index.put({ path: 'f', type: '', text: 'one1 two2 three3 four4' });
  expect([...index.documents()][0].length).toBe(3);
});
