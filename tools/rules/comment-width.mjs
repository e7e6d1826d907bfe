// Refuses comments that go past column 100. Code may go to 110, which Biome keeps, but prose is
// harder to read in long lines. Tables, types and examples, indented or fenced, count as code. A
// word that does not fit into any line, such as an address, may stick out, and so may a directive
// to a tool, which must stay in one line.

const MOST_COLUMNS = 100;
const MOST_CODE_COLUMNS = 110;
const EXAMPLE = /^\s*(?:\/\/|\/?\*+)(?: {4}| \|| @\w+ \{)/;
const DIRECTIVE = /^[/*\s]*(?:biome-ignore|@ts-|eslint-|v8 ignore|<reference)/;

/** @type {import('./rule.mjs').Rule} */
export function commentWidth({ text, comments, lineOf }) {
  const lines = text.split('\n');
  return comments.flatMap(({ start, end }) => {
    const first = lineOf(start);
    const last = lineOf(end);
    let isFenced = false;
    return lines.slice(first - 1, last).flatMap((line, i) => {
      const from = i === 0 ? start - startOfLine(text, start) : 0;
      const to = first + i === last ? end - startOfLine(text, end) : line.length;
      const comment = line.slice(from, to);
      if (/^\s*\* ```/.test(comment)) isFenced = !isFenced;
      const most = isFenced || EXAMPLE.test(comment) ? MOST_CODE_COLUMNS : MOST_COLUMNS;
      if (to <= most || DIRECTIVE.test(comment) || !canBreak(comment, most - from)) return [];
      return {
        line: first + i,
        text: `Cannot accept a comment: expected at most ${most} columns, got ${to}`,
      };
    });
  });
}

/**
 * @param {string} text
 * @param {number} offset
 */
function startOfLine(text, offset) {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/**
 * True if the line has a space after its first word and before the limit.
 * @param {string} comment
 * @param {number} most
 */
function canBreak(comment, most) {
  const mark = /^\s*(?:\/\/|\/\*+|\*)?\s*/.exec(comment)?.[0].length ?? 0;
  return comment.lastIndexOf(' ', most) > mark;
}
