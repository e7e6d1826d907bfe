// Rooms: inside a package, a file imports only from lower rooms of the package's list. Imports of
// types count as well: a type belongs to the lowest room that needs it.

import * as tables from './tables.mjs';
import { productFiles, TABLES, unusedExceptions } from './workspace.mjs';

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {Pick<typeof tables, 'ROOMS' | 'ROOM_EXCEPTIONS'>} [lists]
 * @returns {string[]} problems
 */
export function checkRooms(workspace, { ROOMS, ROOM_EXCEPTIONS } = tables) {
  const problems = [];
  const unknown = new Set();
  const used = new Set();
  for (const file of productFiles(workspace)) {
    const from = roomOf(file.home, file.path, ROOMS[file.package]);
    if (from === null) {
      unknown.add(file.path.split('/').slice(0, 4).join('/'));
      continue;
    }
    for (const { target, specifier } of file.imports) {
      if (!target?.startsWith(`${file.home}/src/`)) continue;
      const to = roomOf(file.home, target, ROOMS[file.package]);
      if (to === null || to.room === from.room || to.level < from.level) continue;
      const exception = ROOM_EXCEPTIONS.find((one) => one.from === file.path && one.to === target);
      if (exception !== undefined) used.add(exception);
      else if (to.level > from.level)
        problems.push(`${file.path}: imports ${specifier}, which stands above ${from.room} (${to.room})`);
      else problems.push(`${file.path}: imports ${specifier}, which stands beside ${from.room} (${to.room})`);
    }
  }
  for (const folder of unknown) {
    const name = folder.split('/')[1];
    problems.push(`${folder}: is not in a known room, add it to ROOMS.${name} in ${TABLES}`);
  }
  return [...problems, ...unusedExceptions(ROOM_EXCEPTIONS, used, 'ROOM_EXCEPTIONS')];
}

/**
 * The room of a path, or null for a folder that no list names.
 * @param {string} home
 * @param {string} path
 * @param {import('./tables.mjs').RoomList} [rooms]
 */
function roomOf(home, path, rooms = []) {
  const inside = path.slice(`${home}/src/`.length);
  let best = null;
  for (const [level, entry] of rooms.entries()) {
    for (const room of [entry].flat()) {
      const fits = inside === room || inside.startsWith(`${room}/`);
      if (fits && room.length > (best?.room.length ?? 0)) best = { room, level };
    }
  }
  if (best !== null) return best;
  return inside.includes('/') ? null : { room: 'src', level: rooms.length };
}
