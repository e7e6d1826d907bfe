import { expect, test } from 'vitest';
import { commentWords } from './comment-words.mjs';
import { refusalsOf } from './planted-source.mjs';

test('a doc comment begins with a noun or a verb in the third person', () => {
  for (const word of ['Of', 'So', 'Null', 'What', 'By', 'As', 'Who', 'Where', 'Which', 'When', 'Its'])
    expect(refusalsOf(commentWords, `const a = 1;\n/**\n * ${word} all bytes.\n */\nconst b = 1;`)).toEqual([
      `3: Cannot accept a doc comment: expected a noun or a verb in the third person first, got "${word}"`,
    ]);
  expect(refusalsOf(commentWords, '/** Null: none. */')).toHaveLength(1);
  for (const text of ['/** Bytes. */', '/** Returns bytes. */', '/** `what` is it. */', '/** So-called. */'])
    expect(refusalsOf(commentWords, text)).toEqual([]);
  expect(refusalsOf(commentWords, '// Of other comments the first word is free.')).toEqual([]);
});

test('words that hide the actor, or that the field says otherwise, are refused in comments', () => {
  for (const word of [
    'nobody',
    'Somebody',
    'everybody',
    'whoever',
    'strangers',
    'anew',
    'for ever',
    'bits a key',
  ])
    expect(refusalsOf(commentWords, `// It is ${word}.\n`)).toEqual([
      expect.stringContaining(`1: Cannot accept a comment: expected `),
    ]);
  expect(refusalsOf(commentWords, '/**\n * Bytes stay for\n * ever.\n */')).toEqual([
    '2: Cannot accept a comment: expected forever, got "for ever"',
  ]);
});

test('code, quotations and other words pass', () => {
  const text = `// "nobody" and \`strangers\`\nconst nobody = 'everybody'; // renewed`;
  expect(refusalsOf(commentWords, text)).toEqual([]);
});

test('the title of a test has none of the words either', () => {
  const text =
    "test('nobody waits', () => {});\ntest(`${a}: nobody waits`, f);\ndescribe('a client', f);\nf('nobody waits');";
  const refusal = 'Cannot accept the title of a test: expected the actor by its name, got "nobody"';
  expect(refusalsOf(commentWords, text, 'packages/cache/test/proxy/a.test.ts')).toEqual([
    `1: ${refusal}`,
    `2: ${refusal}`,
  ]);
});

test('messages and other texts of the product have none of the words', () => {
  const text = "f('read by somebody');\nf(`${a} stays for\\never, for ever`);\nf('nobody', { nobody: 1 });";
  expect(refusalsOf(commentWords, text)).toEqual([
    '1: Cannot accept a text: expected the actor by its name, got "somebody"',
    '2: Cannot accept a text: expected forever, got "for ever"',
  ]);
  expect(refusalsOf(commentWords, text, 'packages/cache/test/proxy/a.test.ts')).toEqual([]);
});
