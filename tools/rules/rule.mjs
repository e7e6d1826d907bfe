// A rule takes a parsed source and returns what it refuses, each with its line. check-rules.mjs
// adds the path, takes out the exceptions, and prints.

/** @typedef {{ line: number, text: string }} Refusal */

/** @typedef {import('../source/parse-source.mjs').Source} Source */

/** @typedef {(source: Source) => Refusal[]} Rule */

/**
 * True for tests, and for code that only tests use.
 * @param {string} path
 */
export function isTestCode(path) {
  return /\.test\.(?:ts|mjs)$/.test(path) || /^[^/]+\/(?:[^/]+\/test|testkit)\//.test(path);
}
