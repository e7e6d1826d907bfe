import { expect, test } from 'vitest';
import { spans } from './inline.ts';

test('spans reads the little Markdown of the texts', () => {
  expect(spans('a **b** *c d* `e*` [f](g.md)!').map(({ kind, text }) => `${kind}:${text}`)).toEqual([
    'plain:a ',
    'strong:b',
    'plain: ',
    'emphasis:c d',
    'plain: ',
    'code:e*',
    'plain: ',
    'link:f',
    'plain:!',
  ]);
});
