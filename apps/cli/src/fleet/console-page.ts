/**
 * The place of the console's built page, for the nodes that the command starts. It is carried
 * beside the built command (`console/`, by build.mjs), and in the assets of the single executable.
 * In the repository, the folder of apps/console serves as well, so a page that was built after the
 * command is found.
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Set for the single executable. */
declare const __BLOOMERY_SINGLE__: boolean | undefined;

/** From the built command (packages/bloomery/bin) and from the sources. */
const PLACES = ['./console/', '../../../apps/console/dist/', '../../../console/dist/'];

/** A folder, `assets:` for those of the single executable, or null if the page was not built. */
export function consolePage(): string | null {
  if (typeof __BLOOMERY_SINGLE__ !== 'undefined') return 'assets:';
  const folders = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return folders.find((folder) => existsSync(`${folder}index.html`)) ?? null;
}
