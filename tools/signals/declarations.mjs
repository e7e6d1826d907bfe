// Reads the declaration files (.d.ts) that tsc wrote: which names a file exports, and the text of
// each function, class and interface. TypeScript 7 has no interface for programs yet, and files
// that tsc has written are regular enough for a reader of brackets: one statement ends with `;` or
// `}` at depth 0, and so does one member of a class. Where it breaks down: a string type that
// contains a bracket.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * @typedef {object} Declaration
 * @property {string} kind function, class, interface or type
 * @property {string} name
 * @property {string} text
 * @property {Declarations} file where it stands
 */

/** The declarations of one file, and those that it imports or exports from others. */
export class Declarations {
  /** @type {Map<string, Declarations>} */
  static #read = new Map();
  /** @type {Map<string, Declaration>} */
  #own = new Map();
  /**
   * Names that this file imports or exports from another.
   * @type {Map<string, [file: string, nameThere: string]>}
   */
  #elsewhere = new Map();
  /** @type {Set<string>} */
  #exported = new Set();
  /** @type {string[]} */
  #stars = [];

  /**
   * The declarations of a file, read once.
   * @param {string} path
   */
  static of(path) {
    const known = Declarations.#read.get(path);
    if (known !== undefined) return known;
    const declarations = new Declarations(readFileSync(path, 'utf8'), path);
    Declarations.#read.set(path, declarations);
    return declarations;
  }

  /**
   * @param {string} text
   * @param {string} path
   */
  constructor(text, path) {
    /** @param {string} specifier */
    const there = (specifier) => join(dirname(path), specifier.replace(/\.[jt]s$/, '.d.ts'));
    for (const statement of split(withoutComments(text), true)) this.#take(statement, there);
  }

  /**
   * @param {string} statement
   * @param {(specifier: string) => string} there
   */
  #take(statement, there) {
    const from = /^(import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|\*)\s*from\s*'(\.[^']*)'/.exec(statement);
    if (from !== null) {
      const [, keyword, names, specifier] = from;
      if (names === undefined) this.#stars.push(there(specifier));
      for (const [name, local] of namesIn(names ?? '')) {
        this.#elsewhere.set(local, [there(specifier), name]);
        if (keyword === 'export') this.#exported.add(local);
      }
      return;
    }
    const own =
      /^(export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(function\*?|class|interface|type)\s+([\w$]+)/.exec(
        statement,
      );
    if (own === null) return;
    const [, exported, kind, name] = own;
    this.#own.set(name, { kind: kind.replace('*', ''), name, text: statement, file: this });
    if (exported !== undefined) this.#exported.add(name);
  }

  /**
   * The declaration of a name that is used in this file, or undefined if it is no type of ours.
   * @param {string} name
   * @returns {Declaration | undefined}
   */
  find(name) {
    const own = this.#own.get(name);
    if (own !== undefined) return own;
    const elsewhere = this.#elsewhere.get(name);
    return elsewhere === undefined ? undefined : Declarations.of(elsewhere[0]).find(elsewhere[1]);
  }

  /**
   * All declarations that this file exports.
   * @returns {Declaration[]}
   */
  exported() {
    const own = [...this.#exported].map((name) => this.find(name)).filter((found) => found !== undefined);
    return [...own, ...this.#stars.flatMap((path) => Declarations.of(path).exported())];
  }
}

/**
 * The members of a class or an interface that others can call.
 * @param {{ text: string }} declaration
 */
export function methodsOf({ text }) {
  const start = text.indexOf('{', headEnd(text));
  const members = split(text.slice(start + 1, text.lastIndexOf('}')), false);
  return members.flatMap((member) => {
    // `private` and `protected` ones begin with that word, and so do not match.
    const found = /^(?:static\s+|readonly\s+)*([\w$]+)\??(?=[(<])/.exec(member);
    return found === null || found[1] === 'constructor' ? [] : [{ name: found[1], text: member }];
  });
}

/**
 * The parameters and the result of a function or a method.
 * @param {string} text
 */
export function signatureOf(text) {
  const start = text.indexOf('(', text.indexOf('<') === -1 ? 0 : typeParametersEnd(text));
  const end = closing(text, start);
  return { parameters: text.slice(start + 1, end), result: text.slice(end + 1).replace(/^\s*:\s*/, '') };
}

/**
 * The names in a type that may be declared by us.
 * @param {string} text
 */
export function typeNamesIn(text) {
  return [...new Set(text.match(/\b[A-Z][\w$]*/g) ?? [])];
}

/**
 * The end of `class Name<…> extends Other<…>`, whose type arguments may have braces.
 * @param {string} text
 */
function headEnd(text) {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '<') depth++;
    else if (text[i] === '>' && text[i - 1] !== '=') depth--;
    else if (text[i] === '{' && depth === 0) return i;
  }
  return text.length;
}

/**
 * The end of the type parameters that precede the parameters, or 0 if there are none.
 * @param {string} text
 */
function typeParametersEnd(text) {
  const open = text.indexOf('<');
  return open < text.indexOf('(') ? closing(text, open) : 0;
}

/**
 * The place of the bracket that closes the one at `open`.
 * @param {string} text
 * @param {number} open
 */
function closing(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    depth += stepAt(text, i);
    if (depth === 0) return i;
  }
  return text.length;
}

/**
 * 1 for an opening bracket, -1 for a closing one; the `>` of an arrow is none.
 * @param {string} text
 * @param {number} i
 */
function stepAt(text, i) {
  if ('([{<'.includes(text[i])) return 1;
  return ')]}'.includes(text[i]) || (text[i] === '>' && text[i - 1] !== '=') ? -1 : 0;
}

/**
 * Statements or members, without what ends them. At the top, `}` ends a statement as well.
 * @param {string} text
 * @param {boolean} top
 */
function split(text, top) {
  /** @type {string[]} */
  const parts = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    depth += stepAt(text, i);
    const block = top && text[i] === '}' && depth === 0 && !/^\s*(from\b|[;=&|)\]])/.test(text.slice(i + 1));
    if (!block && !(text[i] === ';' && depth === 0)) continue;
    parts.push(text.slice(start, block ? i + 1 : i).trim());
    start = i + 1;
  }
  return [...parts, text.slice(start).trim()].filter((part) => part !== '');
}

/**
 * Pairs of a name in the other file and the name here.
 * @param {string} list the names between the braces of an import or an export
 */
function namesIn(list) {
  return list
    .split(',')
    .map((each) => each.trim().replace(/^type\s+/, ''))
    .filter((each) => each !== '')
    .map((each) => {
      const [name, local = name] = each.split(/\s+as\s+/);
      return [name, local];
    });
}

/** @param {string} text */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
