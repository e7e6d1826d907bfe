/**
 * The built file of a thread. All built files lie in one folder (build.mjs), so it is next to the
 * file with this code. In the single executable (tools/package-single.mjs) there is no folder: the
 * code of a thread is an asset of the executable, and comes as a URL that holds it.
 */

import type { getAsset } from 'node:sea';

/** Set for the single executable. */
declare const __BLOOMERY_SINGLE__: boolean | undefined;

export function threadFile(name: 'hash-worker' | 'papers-worker' | 'scan-worker'): URL {
  if (typeof __BLOOMERY_SINGLE__ === 'undefined') return new URL(`./${name}.js`, import.meta.url);
  const sea = process.getBuiltinModule('node:sea') as { getAsset: typeof getAsset };
  const code = Buffer.from(sea.getAsset(`${name}.js`, 'utf8'));
  return new URL(`data:text/javascript;base64,${code.toString('base64')}`);
}
