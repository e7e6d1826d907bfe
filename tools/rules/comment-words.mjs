// Refuses first words of doc comments and words of comments and test titles that STYLE.md names.
//
// A doc comment names its subject first: a noun, or a verb in the third person. The readers of a
// comment that begins with "Of" wait for the noun. Words such as "nobody" hide who acts, and the
// field has its own word for a "stranger". Quoted words and code in backticks pass, so that a
// comment can speak about them.

import { commentBlocks, matchesIn } from '../source/comment-blocks.mjs';
import { isNode, visitNodes } from '../source/parse-source.mjs';

/** First words of doc comments, in lower case. */
const FIRST_WORDS = [
  ...['of', 'so', 'null', 'what', 'by', 'as', 'who', 'whoever', 'where', 'which', 'why', 'when'],
  ...['that', 'it', 'its', 'also', 'too', 'likewise'],
];

/** Words, and what takes their place. */
const WORDS = [
  { words: 'nobody|somebody|everybody|anybody|whoever|whomever', instead: 'the actor by its name' },
  { words: 'strangers?', instead: 'a non-member key, or untrusted input' },
  { words: 'anew', instead: 'again' },
  { words: 'for ever', instead: 'forever' },
  { words: 'also not', instead: 'neither, or a sentence with its actor' },
  { words: 'bits an? key', instead: 'bits per key' },
];

/** @type {import('./rule.mjs').Rule} */
export function commentWords(source) {
  return [
    ...commentBlocks(source).flatMap((block) => [...firstWord(block), ...refusedWords(block)]),
    ...titles(source),
  ];
}

/**
 * @param {import('../source/comment-blocks.mjs').CommentBlock} block
 * @returns {import('./rule.mjs').Refusal[]}
 */
function firstWord({ isDoc, lines }) {
  const line = lines.find(({ text }) => text !== '');
  const word = /^[A-Za-z]+(?![\w-])/.exec(line?.text ?? '')?.[0];
  if (!isDoc || line === undefined || word === undefined || !FIRST_WORDS.includes(word.toLowerCase()))
    return [];
  const text = `Cannot accept a doc comment: expected a noun or a verb in the third person first, got "${word}"`;
  return [{ line: line.number, text }];
}

/**
 * @param {import('../source/comment-blocks.mjs').CommentBlock} block
 * @returns {import('./rule.mjs').Refusal[]}
 */
function refusedWords(block) {
  const unquoted = {
    ...block,
    lines: block.lines.map((line) => ({ ...line, text: withoutQuotes(line.text) })),
  };
  return WORDS.flatMap(({ words, instead }) =>
    matchesIn(unquoted, new RegExp(`\\b(?:${words})\\b`, 'gi')).map(({ number, match }) => ({
      line: number,
      text: `Cannot accept a comment: expected ${instead}, got "${match}"`,
    })),
  );
}

/**
 * Refused words in the titles of tests.
 * @param {import('../source/parse-source.mjs').Source} source
 */
function titles(source) {
  /** @type {import('./rule.mjs').Refusal[]} */
  const found = [];
  visitNodes(source, (node) => {
    if (node.type !== 'CallExpression' || !isNode(node.callee) || !Array.isArray(node.arguments)) return;
    const [title] = node.arguments;
    if (!['test', 'it', 'describe'].includes(String(node.callee.name)) || !isNode(title)) return;
    const text = source.text.slice(title.start, title.end);
    for (const { words, instead } of WORDS) {
      const match = new RegExp(`\\b(?:${words})\\b`, 'i').exec(text)?.[0];
      if (match === undefined) continue;
      const line = source.lineOf(title.start);
      found.push({ line, text: `Cannot accept the title of a test: expected ${instead}, got "${match}"` });
    }
  });
  return found;
}

/** @param {string} text */
function withoutQuotes(text) {
  return text.replace(/`[^`]*`|"[^"]*"/g, '``');
}
