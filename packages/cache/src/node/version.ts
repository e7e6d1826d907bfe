/** The version of this package, from its own manifest. */

import { readFileSync } from 'node:fs';

/**
 * Defined in bundles of this code (apps/cli/build.mjs), where the manifest is not two folders up.
 */
declare const __BLOOMERY_VERSION__: string | undefined;

export const VERSION: string =
  typeof __BLOOMERY_VERSION__ === 'string'
    ? __BLOOMERY_VERSION__
    : JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
