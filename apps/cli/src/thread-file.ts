/** The built file of a thread. All built files lie in one folder (build.mjs), so it is beside the file of this code. */
export function threadFile(name: 'hash-worker' | 'papers-worker'): URL {
  return new URL(`./${name}.js`, import.meta.url);
}
