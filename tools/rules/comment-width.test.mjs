import { expect, test } from 'vitest';
import { commentWidth } from './comment-width.mjs';
import { refusalsOf } from './planted-source.mjs';

const words = 'word '.repeat(30);
const line = (/** @type {number} */ columns) =>
  words
    .slice(0, columns - 1)
    .trimEnd()
    .padEnd(columns, 'x');

test('a comment of 100 columns passes, of any form; one of 101 is refused, with its line', () => {
  const at = (/** @type {number} */ columns) =>
    `//${line(columns - 2)}\n/**\n *${line(columns - 2)}\n */\nconst a = 1; //${line(columns - 15)}\n/*${line(columns - 4)}*/`;
  expect(refusalsOf(commentWidth, at(100))).toEqual([]);
  const refused = 'Cannot accept a comment: expected at most 100 columns, got 101';
  expect(refusalsOf(commentWidth, at(101))).toEqual([1, 3, 5, 6].map((number) => `${number}: ${refused}`));
});

test('code and texts may be wider, and so may code after a comment', () => {
  expect(refusalsOf(commentWidth, `const a = '// ${words}';\nconst b = /* b */ '${words}';`)).toEqual([]);
});

test('a long address and a directive may stick out', () => {
  const address = `https://example.org/${'a'.repeat(100)}`;
  expect(refusalsOf(commentWidth, `// ${address}\n/**\n * ${address}\n */`)).toEqual([]);
  expect(refusalsOf(commentWidth, `// biome-ignore lint/style/x: ${words}\nconst a = 1;`)).toEqual([]);
  expect(refusalsOf(commentWidth, `// see ${address}`)).toHaveLength(1);
});

test('a fenced example may be as wide as code', () => {
  expect(
    refusalsOf(commentWidth, `/**\n * \`\`\`ts\n * ${line(105)}\n * \`\`\`\n * ${line(105)}\n */`),
  ).toEqual([expect.stringMatching(/^5: .* 100 columns, got 108$/)]);
});

test('an indented example and a table may be as wide as code', () => {
  for (const mark of ['//     ', ' *     ', ' * | ', ' * @param {A} ']) {
    const text = (/** @type {number} */ columns) => {
      const comment = mark + line(columns - mark.length);
      return mark.startsWith('/') ? comment : `/**\n${comment}\n */`;
    };
    expect(refusalsOf(commentWidth, text(110))).toEqual([]);
    expect(refusalsOf(commentWidth, text(111))).toEqual([
      expect.stringMatching(/expected at most 110 columns, got 111$/),
    ]);
  }
});
