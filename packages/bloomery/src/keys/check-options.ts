/**
 * The check of an options object that every function and structure with options makes. A misspelt
 * option is an error: ignored, it would leave the default in force, and `hashKey(key, { sed: 7 })`
 * would give a hash that no filter with that seed knows. It lies in the lowest room because hashing
 * needs it as much as filters do.
 */

/** Throws if `options` is no object, or has a property that is not among the known ones. */
export function checkOptions(where: string, options: object, known: readonly string[]): void {
  const wrong = options ? Object.keys(options).find((name) => !known.includes(name)) : `${options}`;
  if (wrong !== undefined) {
    const got = options ? `option '${wrong}'` : wrong;
    throw new TypeError(`Cannot use ${where}: expected ${known.join(', ')}, got ${got}`);
  }
}
