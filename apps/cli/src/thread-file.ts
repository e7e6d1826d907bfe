/**
 * The built file of a thread. All built files lie in one folder (build.mjs), so it is next to the
 * file with this code.
 */
export function threadFile(name: 'hash-worker' | 'papers-worker'): URL {
  return new URL(`./${name}.js`, import.meta.url);
}
