/** Where the built file of a thread is: in dist, whether this code is there itself or in a chunk of it (build.mjs). */
export function threadFile(name: 'hash-worker' | 'papers-worker'): URL {
  const dist = new URL(/\/chunks\/[^/]*$/.test(import.meta.url) ? '..' : '.', import.meta.url);
  return new URL(`${name}.js`, dist);
}
