// Refuses first words of doc comments, and words of comments, messages and test titles, that
// STYLE.md names.
//
// A doc comment names its subject first: a noun, or a verb in the third person. The readers of a
// comment that begins with "Of" wait for the noun. Words such as "nobody" hide who acts, and the
// field has its own word for a "stranger". Quoted words and code in backticks pass, so that a
// comment can speak about them.

import { commentBlocks, matchesIn } from '../source/comment-blocks.mjs';
import { isNode, visitNodes } from '../source/parse-source.mjs';
import { isTestCode } from './rule.mjs';

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
    ...texts(source),
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
 * Refused words in the titles of tests, and in the texts of the product that have a space:
 * messages, help and reports. A text without a space is a name.
 * @param {import('../source/parse-source.mjs').Source} source
 */
function texts(source) {
  const isProduct = /^(?:packages|apps)\/[^/]+\/src\//.test(source.path) && !isTestCode(source.path);
  /** @type {import('./rule.mjs').Refusal[]} */
  const found = [];
  visitNodes(source, (node, ancestors) => {
    const isText =
      node.type === 'TemplateElement' || (node.type === 'Literal' && typeof node.value === 'string');
    if (!isText || !(isProduct || isTitle(node, ancestors))) return;
    const text = source.text.slice(node.start, node.end);
    if (!text.includes(' ')) return;
    for (const { words, instead } of WORDS) {
      const match = new RegExp(`\\b(?:${words})\\b`, 'i').exec(text);
      if (match === null) continue;
      const what = isProduct ? 'a text' : 'the title of a test';
      const line = source.lineOf(node.start + match.index);
      found.push({ line, text: `Cannot accept ${what}: expected ${instead}, got "${match[0]}"` });
    }
  });
  return found;
}

/**
 * True for the first argument of a test, also for a part of a template.
 * @param {import('../source/parse-source.mjs').Node} node
 * @param {import('../source/parse-source.mjs').Node[]} ancestors
 */
function isTitle(node, [parent, above]) {
  const [text, call] = parent.type === 'TemplateLiteral' ? [parent, above] : [node, parent];
  if (call.type !== 'CallExpression' || !isNode(call.callee) || !Array.isArray(call.arguments)) return false;
  return call.arguments[0] === text && ['test', 'it', 'describe'].includes(String(call.callee.name));
}

/** @param {string} text */
function withoutQuotes(text) {
  return text.replace(/`[^`]*`|"[^"]*"/g, '``');
}
