/**
 * Unpacks xz through the program `xz`, because neither Node nor a small package in JavaScript reads
 * it. The program is on most systems; where it is missing, the message names its package.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UsageError } from '../usage-error.ts';

export async function* unpackXz(
  parts: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const program = spawn('xz', ['--decompress', '--stdout'], { stdio: 'pipe' });
  let complaint = '';
  program.stderr.on('data', (text) => {
    complaint += text;
  });
  // A program that ends early closes its input. Its exit code tells why.
  program.stdin.on('error', () => {});
  const ended = once(program, 'close').then(([code]) => code as number);
  ended.catch(() => {});
  const feeding = feed(parts, program.stdin);
  feeding.catch((error) => program.stdout.destroy(error));
  try {
    for await (const part of program.stdout as AsyncIterable<Uint8Array>) yield Uint8Array.from(part);
    if ((await ended) !== 0) {
      const reason = complaint.trim().replace(/^xz: /, '');
      throw new UsageError(`${path}: the xz data is damaged or cut off (${reason})`);
    }
    await feeding;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== 'spawn xz') throw error;
    throw new UsageError(
      `${path} is packed with xz; install the program xz (Debian: xz-utils), or unpack it`,
      {
        cause: error,
      },
    );
  } finally {
    program.kill();
  }
}

async function feed(parts: AsyncIterable<Uint8Array>, into: NodeJS.WritableStream): Promise<void> {
  for await (const part of parts) {
    if (into.write(part)) continue;
    // A program that has ended never drains.
    await Promise.race([once(into, 'drain'), once(into, 'close')]);
  }
  into.end();
}
