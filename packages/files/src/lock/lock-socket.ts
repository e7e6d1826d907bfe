/**
 * A socket with a name in a folder. As long as it answers, the process that made it is alive
 * (owner-liveness.ts). The kernel finds such a socket by its name, whatever the network namespace
 * (unix(7)), answers for the process, and closes the socket with it. An abstract socket would end
 * at the network namespace.
 *
 * The address of a socket holds 108 bytes (unix(7)), and folders have longer names. Such a folder
 * is addressed by a descriptor if the system has /proc.
 */

import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../file-error.ts';

/** Below the limit of all systems; some allow 104 with the final zero. */
const MOST_ADDRESS_BYTES = 100;

export class LockSocket {
  readonly name: string;
  readonly #path: string;
  readonly #server: Server;

  private constructor(folder: string, name: string, server: Server) {
    this.name = name;
    this.#path = join(folder, name);
    this.#server = server;
  }

  /** Creates the socket. Returns undefined if the system or the file system has no such sockets. */
  static async listen(folder: string, name: string): Promise<LockSocket | undefined> {
    const server = createServer((socket) => socket.destroy());
    try {
      await withAddress(folder, name, (path) => {
        return new Promise<void>((resolve, reject) => {
          server.once('error', reject);
          // Exclusive: a worker of node:cluster would ask its primary for the handle.
          server.listen({ path, exclusive: true }, resolve);
        });
      });
    } catch {
      return undefined;
    }
    server.on('error', () => {});
    server.unref();
    return new LockSocket(folder, name, server);
  }

  /** Removes the name and goes on listening. */
  unlink(): void {
    rmSync(this.#path, { force: true });
  }

  close(): void {
    this.#server.close();
    this.unlink();
  }
}

/**
 * Whether a process listens there; undefined if that is unknown. Rejects with the reason of the
 * signal when it is aborted.
 */
export async function isAnswered(
  folder: string,
  name: string,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<boolean | undefined> {
  signal?.throwIfAborted();
  try {
    await withAddress(folder, name, (path) => {
      return new Promise<void>((resolve, reject) => {
        const socket = connect({ path, signal }, () => {
          socket.destroy();
          resolve();
        });
        socket.once('error', reject);
      });
    });
    return true;
  } catch (error) {
    signal?.throwIfAborted();
    if (errorCode(error) === 'ECONNREFUSED') return false;
    // Linux returns this when the queue of a listening socket is full.
    return errorCode(error) === 'EAGAIN' ? true : undefined;
  }
}

async function withAddress<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= MOST_ADDRESS_BYTES) return use(path);
  if (!existsSync('/proc/self/fd'))
    throw new Error(
      `Cannot listen on a lock's socket: expected a path of ${MOST_ADDRESS_BYTES} bytes, got ${path}`,
    );
  const fd = openSync(folder, 'r');
  try {
    return await use(`/proc/self/fd/${fd}/${name}`);
  } finally {
    closeSync(fd);
  }
}
