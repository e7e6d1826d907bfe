// Checks that imports point only down: between packages, between the rooms of a package, and
// between files. Checks also that pure rooms load nothing impure, and where tests lie. The rules
// are in tools/boundaries, the order of packages and rooms in tools/boundaries/tables.mjs.

import { fileURLToPath } from 'node:url';
import { checkCycles } from './boundaries/check-cycles.mjs';
import { checkPackages } from './boundaries/check-packages.mjs';
import { checkPlaces } from './boundaries/check-places.mjs';
import { checkPurity } from './boundaries/check-purity.mjs';
import { checkRooms } from './boundaries/check-rooms.mjs';
import { readWorkspace } from './boundaries/read-workspace.mjs';

const workspace = readWorkspace(fileURLToPath(new URL('..', import.meta.url)));
const problems = [checkPackages, checkRooms, checkCycles, checkPlaces, checkPurity].flatMap((check) =>
  check(workspace),
);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`boundaries: ${workspace.files.length} files keep to their packages and rooms, without cycles`);
