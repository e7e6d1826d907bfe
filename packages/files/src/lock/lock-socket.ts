/**
 * A socket in a folder that says, as long as it answers, that the process that made it lives (folder-lock.ts). Sockets with a name in the file system are found by
 * that name, whatever the network namespace (unix(7)); the kernel answers for the process and closes the socket with it.
 *
 * The address of a socket holds 108 bytes (unix(7)), and folders have longer names: then it is addressed by a descriptor of the folder, where the system
 * has /proc.
 */

import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '../file-error.ts';

/** 104 with the final zero on some systems. */
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

  /** Undefined: there are no sockets in this file system. */
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

  close(): void {
    this.#server.close();
    rmSync(this.#path, { force: true });
  }
}

/** Whether somebody listens there. Undefined: that cannot be told. */
export async function isAnswered(folder: string, name: string): Promise<boolean | undefined> {
  try {
    await withAddress(folder, name, (path) => {
      return new Promise<void>((resolve, reject) => {
        const socket = connect(path, () => {
          socket.destroy();
          resolve();
        });
        socket.once('error', reject);
      });
    });
    return true;
  } catch (error) {
    if (errorCode(error) === 'ECONNREFUSED') return false;
    // So many wait to be answered that there must be somebody.
    return errorCode(error) === 'EAGAIN' ? true : undefined;
  }
}

async function withAddress<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= MOST_ADDRESS_BYTES) return use(path);
  if (!existsSync('/proc/self/fd'))
    throw new Error(`Expected a path of ${MOST_ADDRESS_BYTES} bytes, got ${path}`);
  const fd = openSync(folder, 'r');
  try {
    return await use(`/proc/self/fd/${fd}/${name}`);
  } finally {
    closeSync(fd);
  }
}
