// Finds the imports of a TypeScript file: statements, `export … from`, `import()` and `new
// URL('./x.ts', import.meta.url)`. TypeScript 7 has no JavaScript API to ask, and a lexer would be
// a dependency, so this blanks the text that can hide or fake an import (comments, templates,
// regular expressions) and finds imports in the rest by patterns. It does not see
// `import(variable)`.

/** @typedef {'value' | 'type' | 'dynamic' | 'url'} ImportKind */
/** @typedef {{ specifier: string, kind: ImportKind }} Import */

/**
 * Returns the imports. An import is of kind `type` if it does not exist at run time.
 * @param {string} text
 * @returns {Import[]}
 */
export function importsOf(text) {
  const code = blanked(text);
  const found = [];
  for (const [, keyword, clause, specifier] of code.matchAll(STATEMENT)) {
    if (keyword === 'export' && clause === undefined) continue; // export 'x' is no statement
    found.push({ specifier, kind: isTypeOnly(clause ?? '') ? 'type' : 'value' });
  }
  for (const [, asType, specifier, member] of code.matchAll(CALL)) {
    const kind = asType !== undefined || /^\.[A-Z]/.test(member ?? '') ? 'type' : 'dynamic';
    found.push({ specifier, kind });
  }
  for (const [, specifier] of code.matchAll(ADDRESS)) found.push({ specifier, kind: 'url' });
  return found;
}

const STATEMENT = /^[ \t]*(import|export)\b(?:\s*([^'"`;()=]*?)\bfrom)?\s*['"]([^'"\n]+)['"]/gm;
const CALL = /(\btypeof\s+)?\bimport\(\s*['"]([^'"\n]+)['"]\s*\)(\.\w+)?/g;
const ADDRESS = /\bnew URL\(\s*['"](\.[^'"\n]+)['"]\s*,\s*import\.meta\.url/g;

/** @param {string} clause what stands between `import` and `from` */
function isTypeOnly(clause) {
  if (/^type\b/.test(clause.trim())) return true;
  const braces = /^\s*\{([^}]*)\}\s*$/.exec(clause);
  const names = braces?.[1].split(',').filter((name) => name.trim() !== '') ?? [];
  return names.length > 0 && names.every((name) => /^\s*type\s/.test(name));
}

/**
 * Returns the text without comments, with empty templates and regular expressions. Quoted strings
 * stay, because specifiers are among them. Code inside a template's `${}` is blanked as well.
 * @param {string} text
 */
export function blanked(text) {
  let result = '';
  let i = 0;
  while (i < text.length) {
    const end = endOfToken(text, i, result);
    const token = text.slice(i, end);
    const isQuoted = token[0] === "'" || token[0] === '"';
    result += token.length === 1 || isQuoted ? token : token.replace(/[^\n]/g, ' ');
    i = end;
  }
  return result;
}

/** @param {string} text @param {number} i @param {string} before */
function endOfToken(text, i, before) {
  const two = text.slice(i, i + 2);
  if (two === '//') return indexOr(text, '\n', i);
  if (two === '/*') return indexOr(text, '*/', i + 2) + 2;
  if (text[i] === "'" || text[i] === '"') return endOfQuoted(text, i);
  if (text[i] === '`') return endOfTemplate(text, i);
  // After a value a slash divides; after an operator, a bracket or a keyword it opens a regular
  // expression.
  if (text[i] === '/' && /(?:^|[=(,:;!&|?{}[+~<>-]|=>|\breturn|\btypeof|\bcase)\s*$/.test(before.slice(-40)))
    return endOfPattern(text, i);
  return i + 1;
}

function indexOr(text, wanted, from) {
  const index = text.indexOf(wanted, from);
  return index < 0 ? text.length : index;
}

function endOfQuoted(text, start) {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === text[start] || text[i] === '\n') return i + 1;
  }
  return text.length;
}

function endOfTemplate(text, start) {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '`') return i + 1;
    else if (text.startsWith('${', i)) i = endOfSubstitution(text, i + 2) - 1;
  }
  return text.length;
}

/** Finds the end of a `${}`, whose code may hold braces, strings and templates itself. */
function endOfSubstitution(text, start) {
  let depth = 1;
  let i = start;
  while (i < text.length && depth > 0) {
    if (text[i] === '{') depth++;
    if (text[i] === '}') depth--;
    i = endOfToken(text, i, text.slice(start, i));
  }
  return i;
}

function endOfPattern(text, start) {
  let isClass = false;
  for (let i = start + 1; i < text.length && text[i] !== '\n'; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '[') isClass = true;
    else if (text[i] === ']') isClass = false;
    else if (text[i] === '/' && !isClass) return i + 1;
  }
  return start + 1; // no end on this line, so the slash was a division
}
