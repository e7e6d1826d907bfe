// Refuses tables of Markdown pages that do not look as their author meant. GitHub ends a cell at
// every `|` that has no backslash, inside backticks as well. It drops the cells that the header
// lacks, fills up those that a row lacks, and shows a table without its line of dashes, or with a
// blank line in it, as text.

import { linesOutsideBlocks } from './references.mjs';

/**
 * @param {Map<string, string>} pages texts by path
 * @returns {string[]} problems
 */
export function checkTables(pages) {
  return [...pages].flatMap(([page, text]) => {
    /** @type {string[]} */
    const problems = [];
    for (const rows of tablesIn(text)) {
      const [header, dashes] = rows;
      const columns = cellsOf(header.text).length;
      if (dashes === undefined || !cellsOf(dashes.text).every((cell) => /^:?-+:?$/.test(cell))) {
        const got = dashes === undefined ? 'nothing' : `"${dashes.text}"`;
        problems.push(refusal(header.line, 'a line of dashes below the header', got));
        continue;
      }
      for (const { line, text } of rows) {
        const cells = cellsOf(text).length;
        if (cells !== columns)
          problems.push(refusal(line, `${columns} cells, as the header has`, `${cells}`));
      }
    }
    return problems;

    /** @param {number} line @param {string} expected @param {string} got */
    function refusal(line, expected, got) {
      return `Cannot show a table: expected ${expected}, got ${got} (${page}:${line})`;
    }
  });
}

/**
 * Groups of lines that begin with `|` and follow each other.
 * @param {string} text
 * @returns {{ line: number, text: string }[][]}
 */
function tablesIn(text) {
  /** @type {{ line: number, text: string }[][]} */
  const tables = [];
  let last = -2;
  for (const [i, line] of linesOutsideBlocks(text)) {
    if (!/^\s*\|/.test(line)) continue;
    const row = { line: i + 1, text: line.trim() };
    if (i === last + 1) tables[tables.length - 1].push(row);
    else tables.push([row]);
    last = i;
  }
  return tables;
}

/** @param {string} row */
function cellsOf(row) {
  return row
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}
