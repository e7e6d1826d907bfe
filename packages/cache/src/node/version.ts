/** The version of this package, from its own manifest. */

import { readFileSync } from 'node:fs';

/** Set where this code is bundled (apps/cli/build.mjs), as the manifest is then not two folders up. */
declare const __BLOOMERY_VERSION__: string | undefined;

export const VERSION: string =
  typeof __BLOOMERY_VERSION__ === 'string'
    ? __BLOOMERY_VERSION__
    : JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
