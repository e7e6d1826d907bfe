import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Block, plainText, readInline, readMarkdown } from './markdown.ts';

function documentOf(name: string): { text: string; blocks: Block[] } {
  const text = readFileSync(new URL(`../../../../docs/papers/${name}`, import.meta.url), 'utf8');
  return { text, blocks: readMarkdown(text) };
}

test.each(['papers.md', 'errata.md'])('readMarkdown reads every table, picture and heading of %s', (name) => {
  const { text, blocks } = documentOf(name);
  const count = (kind: Block['kind']) => blocks.filter((block) => block.kind === kind).length;
  expect(count('table')).toBe([...text.matchAll(/^\|[ :|-]+\|$/gm)].length);
  expect(count('picture')).toBe([...text.matchAll(/^!\[/gm)].length);
  expect(count('heading')).toBe([...text.matchAll(/^#+ /gm)].length);
  for (const block of blocks) {
    if (block.kind === 'table')
      expect(block.rows.every((row) => row.length === block.head.length)).toBe(true);
    if (block.kind === 'paragraph') expect(plainText(block.parts)).not.toMatch(/^[|#]|\*\*|\]\(/);
  }
});

test('readInline reads emphasis, code, links and escapes, and leaves the rest as it is', () => {
  expect(readInline('a **b `c`** *d* [e](f.md) \\* g*h')).toEqual([
    { kind: 'text', text: 'a ' },
    {
      kind: 'strong',
      parts: [
        { kind: 'text', text: 'b ' },
        { kind: 'code', text: 'c' },
      ],
    },
    { kind: 'text', text: ' ' },
    { kind: 'emphasis', parts: [{ kind: 'text', text: 'd' }] },
    { kind: 'text', text: ' ' },
    { kind: 'link', parts: [{ kind: 'text', text: 'e' }], target: 'f.md' },
    { kind: 'text', text: ' * g*h' },
  ]);
});

test('readMarkdown passes markup on as text', () => {
  const [block] = readMarkdown('<img src=x onerror=alert(1)> **<b>**');
  expect(block).toEqual({
    kind: 'paragraph',
    parts: [
      { kind: 'text', text: '<img src=x onerror=alert(1)> ' },
      { kind: 'strong', parts: [{ kind: 'text', text: '<b>' }] },
    ],
  });
});
