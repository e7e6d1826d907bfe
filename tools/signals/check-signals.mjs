// Finds public asynchronous functions that take no signal. Public is what an entry of a package
// exports, and every method of what these return. A function takes a signal if its parameters, or
// the options that they name, have a `signal`.

import { methodsOf, signatureOf, typeNamesIn } from './declarations.mjs';

/** @typedef {import('./declarations.mjs').Declaration} Declaration */
/** @typedef {import('./declarations.mjs').Declarations} Declarations */

const ASYNC = /\b(Promise|AsyncGenerator|AsyncIterable|AsyncIterator)\s*</;

/**
 * The public asynchronous functions of files of declarations: each name, and whether it takes a
 * signal.
 * @param {Declarations[]} entries
 * @returns {Map<string, boolean>}
 */
export function publicAsync(entries) {
  /** @type {Map<string, boolean>} */
  const found = new Map();
  const queue = entries.flatMap((entry) => entry.exported());
  /** @type {Set<Declaration>} */
  const seen = new Set();
  for (let declaration = queue.shift(); declaration !== undefined; declaration = queue.shift()) {
    if (seen.has(declaration)) continue;
    seen.add(declaration);
    const { kind, name, text, file } = declaration;
    const calls =
      kind === 'function'
        ? [{ name, text }]
        : kind === 'type'
          ? []
          : methodsOf(declaration).map((method) => ({ name: `${name}.${method.name}`, text: method.text }));
    for (const call of calls) {
      const { parameters, result } = signatureOf(call.text);
      for (const type of typeNamesIn(result)) {
        const returned = file.find(type);
        if (returned !== undefined) queue.push(returned);
      }
      if (ASYNC.test(result))
        found.set(call.name, (found.get(call.name) ?? true) && takesSignal(parameters, file));
    }
  }
  return found;
}

/**
 * Problems: functions without a signal that are no exception, and exceptions that are no longer
 * needed.
 * @param {Map<string, boolean>} found
 * @param {Record<string, string>} exceptions
 */
export function problemsOf(found, exceptions) {
  const missing = [...found].filter(([name, signal]) => !signal && exceptions[name] === undefined);
  const needless = Object.keys(exceptions).filter((name) => found.get(name) !== false);
  return [
    ...missing.map(([name]) => `${name} is public and asynchronous, but takes no signal`),
    ...needless.map((name) => `${name} is an exception that is not needed any more`),
  ];
}

/**
 * @param {string} text
 * @param {Declarations} file where the text stands
 * @param {Set<Declaration>} [seen] declarations that were asked before
 * @returns {boolean}
 */
function takesSignal(text, file, seen = new Set()) {
  if (/\bsignal\??\s*:\s*AbortSignal/.test(text)) return true;
  return typeNamesIn(text).some((name) => {
    const declared = file.find(name);
    if (declared === undefined || seen.has(declared) || declared.kind === 'class') return false;
    seen.add(declared);
    return takesSignal(declared.text, declared.file, seen);
  });
}
