// Comments as a reader sees them: `//` lines that follow each other are one block, and the marks at
// the beginnings of lines are gone.

/**
 * @typedef {object} CommentBlock
 * @property {boolean} isDoc true for a doc comment, which begins with two stars
 * @property {{ number: number, text: string }[]} lines the number of each line, and its text
 * without marks
 */

/**
 * @param {import('./parse-source.mjs').Source} source
 * @returns {CommentBlock[]}
 */
export function commentBlocks({ text, comments, lineOf }) {
  /** @type {CommentBlock[]} */
  const blocks = [];
  let openLine = -1;
  for (const { type, value, start } of comments) {
    const number = lineOf(start);
    if (type === 'Line') {
      const line = { number, text: value.trim() };
      const isAlone = text.slice(text.lastIndexOf('\n', start) + 1, start).trim() === '';
      if (isAlone && openLine === number - 1) blocks[blocks.length - 1].lines.push(line);
      else blocks.push({ isDoc: false, lines: [line] });
      openLine = isAlone ? number : -1;
      continue;
    }
    openLine = -1;
    const lines = value.split('\n').map((line, i) => ({
      number: number + i,
      text: line.replace(/^\s*\*+/, '').trim(),
    }));
    blocks.push({ isDoc: value.startsWith('*'), lines });
  }
  return blocks;
}

/**
 * Matches of a pattern in the running text of a block, each with its line. A phrase may go on in
 * the next line.
 * @param {CommentBlock} block
 * @param {RegExp} pattern with the flag g
 * @returns {{ number: number, match: string }[]}
 */
export function matchesIn({ lines }, pattern) {
  /** @type {number[]} */
  const ends = [];
  let text = '';
  for (const line of lines) {
    text += `${line.text} `;
    ends.push(text.length);
  }
  return [...text.matchAll(pattern)].map(({ 0: match, index }) => ({
    number: lines[ends.findIndex((end) => index < end)].number,
    match,
  }));
}
