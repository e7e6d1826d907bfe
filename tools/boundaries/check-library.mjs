// The library has no clock and no randomness: callers pass time and random numbers in.
// (check-packages.mjs refuses Node's modules.)

import * as tables from './tables.mjs';
import { productFiles } from './workspace.mjs';

/** @param {import('./workspace.mjs').Workspace} workspace @returns {string[]} problems */
export function checkLibrary(workspace, { IMPURE } = tables) {
  return productFiles(workspace)
    .filter((file) => file.package === 'bloomery')
    .flatMap(({ path, code }) =>
      IMPURE.filter((use) => code.includes(use)).map((use) => `${path}: uses ${use}, which callers pass in`),
    );
}
