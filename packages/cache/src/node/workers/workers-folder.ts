/**
 * The folder of the sockets through which workers reach each other (relay.ts). It lies in the
 * temporary folder and only its owner can enter it, because connections to these sockets are
 * trusted. That is why the sockets have names in the file system, and not in Linux's abstract
 * namespace, to which any user may connect.
 *
 * Names outlive processes. The folder is removed when the primary ends in any regular way. If the
 * primary is killed, its workers notice and remove the folder. Only if all are killed at once (the
 * machine runs out of memory) does it stay, and the next primary removes it. To find out whether a
 * folder is still in use, the next primary connects to `primary.sock` in it, which the kernel
 * refuses if no process listens. A process id would be wrong if it was reused, or belongs to
 * another container with the same temporary folder.
 */

import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAnswered } from '@bloomery/files';

const PREFIX = 'bloomery-workers-';
const OWN_SOCKET = 'primary.sock';
/** A folder that was just created has no socket yet. */
const YOUNG_MS = 10_000;
/** The size of `sun_path`, including its end: 104 bytes on macOS and BSD, 108 on Linux. */
const LONGEST_PATH = 103;

export interface WorkersFolder {
  readonly path: string;
  /** Removes the folder. */
  close(): void;
}

export async function openWorkersFolder(parent: string = tmpdir()): Promise<WorkersFolder> {
  await removeLeftFolders(parent);
  const path = mkdtempSync(join(parent, PREFIX));
  const close = () => {
    process.off('exit', close);
    server.close();
    removeWorkersFolder(path);
  };
  const server = createServer((socket) => socket.destroy());
  server.unref();
  // The folder is removed at an unplanned end as well, as long as this program ends itself.
  process.once('exit', close);
  try {
    const socket = join(path, OWN_SOCKET);
    if (Buffer.byteLength(socket) > LONGEST_PATH) {
      throw new Error(
        `Cannot make sockets in the temporary folder ${parent}: expected at most ${LONGEST_PATH} bytes for ${socket}, got ${Buffer.byteLength(socket)}; set TMPDIR to another one`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socket, resolve);
    });
    // The socket only has to exist; errors of its connections do not matter.
    server.on('error', () => {});
  } catch (error) {
    close();
    throw error;
  }
  return { path, close };
}

/**
 * Called by the primary, or by workers that have lost it: all of them try, and failures are
 * ignored.
 */
export function removeWorkersFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It may just have been removed; anything left is removed by the next primary.
  }
}

/** Removes the folders of primaries that were killed together with their workers. */
export async function removeLeftFolders(parent: string = tmpdir(), now: number = Date.now()): Promise<void> {
  const user = process.getuid?.();
  if (user === undefined) return;
  for (const name of namesIn(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(parent, name);
    try {
      // A symbolic link is not followed, because it may lead anywhere.
      const found = lstatSync(path);
      if (!found.isDirectory() || found.uid !== user || now - found.mtimeMs < YOUNG_MS) continue;
      const sockets = namesIn(path).filter((inside) => inside.endsWith('.sock'));
      // Only a refusal proves that no process listens. Any other result, or none, may come from a
      // busy process.
      const answers = await Promise.all(sockets.map((socket) => isAnswered(path, socket)));
      if (answers.every((answer) => answer === false)) removeWorkersFolder(path);
    } catch {
      // The folder is gone, or not readable.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
