import { expect, test } from 'vitest';
import { anchorsOf, referencesIn } from './references.mjs';

test('referencesIn finds relative links and images, not addresses', () => {
  const text =
    '[a](../a.md#part "title") ![b](b.svg)\n[c](https://example.org/x.md) [d](mailto:x@y.z) [e](#here)';
  expect(referencesIn(text)).toEqual([
    { line: 1, kind: 'link', target: '../a.md#part' },
    { line: 1, kind: 'link', target: 'b.svg' },
    { line: 2, kind: 'link', target: '#here' },
  ]);
});

test('referencesIn finds paths in backticks, and leaves out what is no path', () => {
  const text =
    '`tools/a.mjs` `docs/guide/` `src/a.ts:12` `a/b c` `x.ts` `packages/*/a.ts` `<name>/a` `1 / 2`';
  expect(referencesIn(text).map(({ kind, target }) => `${kind} ${target}`)).toEqual([
    'mention tools/a.mjs',
    'mention docs/guide/',
    'mention src/a.ts',
  ]);
});

test('referencesIn leaves out blocks of code, and links inside backticks', () => {
  const text =
    'before `[a](a.md)`\n```sh\n[b](b.md) `tools/b.mjs`\n```\n~~~~\n```\n[c](c.md)\n~~~~\n[d](d.md)';
  expect(referencesIn(text)).toEqual([{ line: 9, kind: 'link', target: 'd.md' }]);
});

test('anchorsOf names headings as GitHub does', () => {
  const text = '# The `bits`, and [links](x.md)\n## Who, when?\n## Who, when?\n```\n# no heading\n```';
  expect([...anchorsOf(text)]).toEqual(['the-bits-and-links', 'who-when', 'who-when-1']);
});
