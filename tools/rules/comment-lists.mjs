// Refuses lists and examples in comments that a reflow has joined into prose: the mark of an item
// in the middle of a line, after the end of a sentence, and a fence that does not stand alone. We
// found four such comments, in which two rules read as one.

const JOINED = /^\s*(?:\*|\/\/) .*[.;:] - [A-Z`]/;
const FENCE = /^\s*\* .*\S ```$/;

/** @type {import('./rule.mjs').Rule} */
export function commentLists({ text, comments, lineOf }) {
  const lines = text.split('\n');
  return comments.flatMap(({ start, end }) => {
    const first = lineOf(start);
    return lines.slice(first - 1, lineOf(end)).flatMap((line, i) => {
      const what = JOINED.test(line) ? 'an item of a list' : FENCE.test(line) ? 'a fence' : null;
      if (what === null) return [];
      const where = 'on a line of its own';
      return {
        line: first + i,
        text: `Cannot accept a comment: expected ${what} ${where}, got it after text`,
      };
    });
  });
}
