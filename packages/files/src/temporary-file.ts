/**
 * Names for files that are being written, and the removal of those whose process is gone.
 *
 * `.NAME.PID-NAMESPACE-TOKEN.bloomery-tmp`: a process number means nothing in another PID
 * namespace, and the first processes of two containers often have the same one. With the number
 * alone (`.NAME.PID.bloomery-tmp`, version 0.1.0) a process could remove the file that another
 * container was writing, and begin its own under the same name. The other container would then
 * rename that unfinished file into place.
 */

import { randomBytes } from 'node:crypto';
import { readdirSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pidNamespace, processState } from './lock/process-identity.ts';

/** A name next to a place that no other process uses. */
export function temporaryName(place: string): string {
  const token = randomBytes(4).toString('hex');
  return join(dirname(place), `${prefixOf(place)}${process.pid}-${ownNamespace()}-${token}${SUFFIX}`);
}

/**
 * Whether a name in a folder belongs to a file that is being written, or was when its process died.
 */
export function isTemporaryName(name: string): boolean {
  return name.startsWith('.') && name.endsWith(SUFFIX);
}

/**
 * Removes the temporary files that killed processes left next to a place. Files of running
 * processes and of other containers stay. A file that cannot be removed stays as well: it belongs
 * to another user, or another process is just removing it.
 */
export function removeLeftovers(place: string): void {
  const prefix = prefixOf(place);
  for (const name of namesIn(dirname(place))) {
    if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue;
    const [, pid, namespace = ownNamespace()] = OWNER.exec(name.slice(prefix.length, -SUFFIX.length)) ?? [];
    if (pid === undefined || namespace !== ownNamespace() || isRunning(Number(pid))) continue;
    try {
      unlinkSync(join(dirname(place), name));
    } catch {
      // it stays
    }
  }
}

const SUFFIX = '.bloomery-tmp';
/** The token is missing in names of version 0.1.0. */
const OWNER = /^(\d+)(?:-(\d*)-[0-9a-f]{8})?$/;
/** Names have at most 255 bytes; this leaves room for the rest. */
const MOST_NAME_BYTES = 200;

function prefixOf(place: string): string {
  let name = basename(place);
  while (Buffer.byteLength(name) > MOST_NAME_BYTES) name = name.slice(0, -1);
  return `.${name}.`;
}

/** Number of this PID namespace; empty if the system has none. */
function ownNamespace(): string {
  return /\d+/.exec(pidNamespace())?.[0] ?? '';
}

/**
 * Whether the process that wrote a file still runs. A file with the number of this process is from
 * an earlier process, because this one writes one file at a time.
 */
function isRunning(pid: number): boolean {
  return pid !== process.pid && processState(pid, '') !== 'gone';
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // a user may be allowed to write to a directory but not to list it
  }
}
