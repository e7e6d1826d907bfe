/**
 * The folder of the sockets by which workers reach each other (relay.ts): in the temporary folder, and for its owner only, since who can connect there is believed.
 * That is why these sockets have names in the file system, and not in Linux's abstract namespace, which anybody may connect to.
 *
 * Names outlive processes. The folder goes when the primary ends, however it decides to; when it is killed, its workers see it and remove the folder. Only when
 * all are killed at once (the machine's memory is full) it stays, and the next primary removes it. Whether a folder is still
 * somebody's is asked by connecting to `primary.sock` in it, which the kernel refuses when nobody listens. A process number
 * would be wrong when it was given to another process, or is one of another container with the same temporary folder.
 */

import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAnswered } from '@bloomery/files';

const PREFIX = 'bloomery-workers-';
const OWN_SOCKET = 'primary.sock';
/** One that is just being made has no socket yet. */
const YOUNG_MS = 10_000;
/** Of `sun_path`, with its end: 104 bytes on macOS and BSD, 108 on Linux. */
const LONGEST_PATH = 103;

export interface WorkersFolder {
  readonly path: string;
  /** Removes it. */
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
  // Also at an end that nobody planned, as long as it is an end of this program's.
  process.once('exit', close);
  try {
    const socket = join(path, OWN_SOCKET);
    if (Buffer.byteLength(socket) > LONGEST_PATH) {
      throw new Error(
        `The temporary folder ${parent} has too long a name for sockets: expected at most ${LONGEST_PATH} bytes for ${socket}, got ${Buffer.byteLength(socket)}; set TMPDIR to another one`,
      );
    }
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socket, resolve);
    });
    // It only has to be there: what goes wrong with who connects is nobody's affair.
    server.on('error', () => {});
  } catch (error) {
    close();
    throw error;
  }
  return { path, close };
}

/** By the primary, or by workers that have lost theirs: all of them try, and none minds. */
export function removeWorkersFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It may be gone in this moment; what stays is removed by the next primary.
  }
}

/** Folders of primaries that were killed together with their workers. */
export async function removeLeftFolders(parent: string = tmpdir(), now: number = Date.now()): Promise<void> {
  const user = process.getuid?.();
  if (user === undefined) return;
  for (const name of namesIn(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(parent, name);
    try {
      // Not a link: it may lead anywhere.
      const found = lstatSync(path);
      if (!found.isDirectory() || found.uid !== user || now - found.mtimeMs < YOUNG_MS) continue;
      const sockets = namesIn(path).filter((inside) => inside.endsWith('.sock'));
      // Any other answer than a refusal, or none, may come from a process that is busy.
      const answers = await Promise.all(sockets.map((socket) => isAnswered(path, socket)));
      if (answers.every((answer) => answer === false)) removeWorkersFolder(path);
    } catch {
      // Gone, or not to be looked at.
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
