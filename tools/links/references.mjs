// Finds the references in a Markdown page: links to other pages and to headings, and paths of this
// repository in backticks. Blocks of code are left out, because they may name files of the reader.

/** @typedef {{ line: number, kind: 'link' | 'mention', target: string }} Reference */

/** @param {string} text @returns {Reference[]} */
export function referencesIn(text) {
  /** @type {Reference[]} */
  const found = [];
  for (const [i, line] of linesOutsideBlocks(text)) {
    const prose = line.replace(CODE, (code) => ' '.repeat(code.length));
    for (const [, target] of prose.matchAll(LINK))
      if (!/^[a-z]+:/i.test(target)) found.push({ line: i + 1, kind: 'link', target: decodeURI(target) });
    for (const [, target] of line.matchAll(CODE))
      if (PATH.test(target))
        found.push({ line: i + 1, kind: 'mention', target: target.replace(/:\d+$/, '') });
  }
  return found;
}

/** The anchors of a page's headings, as GitHub makes them. @param {string} text */
export function anchorsOf(text) {
  const anchors = new Map();
  for (const [, line] of linesOutsideBlocks(text)) {
    const title = /^#{1,6}\s+(.*)$/.exec(line)?.[1];
    if (title === undefined) continue;
    const plain = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
    anchors.set(slug, (anchors.get(slug) ?? 0) + 1);
  }
  return new Set(
    [...anchors].flatMap(([slug, count]) =>
      Array.from({ length: count }, (_, i) => (i === 0 ? slug : `${slug}-${i}`)),
    ),
  );
}

const CODE = /`([^`]+)`/g;
const LINK = /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
/** At least one slash, and only characters that occur in file names here. */
const PATH = /^(?:[\w.@-]+\/)+(?:[\w.@-]+)?(?::\d+)?$/;

/** @param {string} text @returns {[number, string][]} */
export function linesOutsideBlocks(text) {
  /** @type {string | null} */
  let fence = null;
  return [...text.split('\n').entries()].filter(([, line]) => {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1] ?? null;
    if (fence === null) {
      fence = mark;
      return mark === null;
    }
    if (mark?.startsWith(fence)) fence = null;
    return false;
  });
}
