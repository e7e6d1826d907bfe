/**
 * Unpacks xz and bzip2 through the programs of these names, because neither Node nor a small
 * package in JavaScript reads them, and `zstd --long` with windows that a small package refuses.
 * The programs are on most systems; where one is missing, the message names its package.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UsageError } from '../usage-error.ts';

type PackingProgram = 'xz' | 'bzip2' | 'zstd';

const PACKAGES: Record<PackingProgram, string> = { xz: 'xz-utils', bzip2: 'bzip2', zstd: 'zstd' };

export async function* unpackByProgram(
  name: PackingProgram,
  parts: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const program = spawn(name, ['--decompress', '--stdout', ...(name === 'zstd' ? ['--long=31'] : [])], {
    stdio: 'pipe',
  });
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
      // bzip2 explains itself at length after an empty line.
      const [reason] = complaint.trim().split('\n');
      throw new UsageError(
        `${path}: the ${name} data is damaged or cut off (${reason.replace(`${name}: `, '')})`,
      );
    }
    await feeding;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== `spawn ${name}`) throw error;
    throw new UsageError(
      `${path} is packed with ${name}; install the program ${name} (Debian: ${PACKAGES[name]}), or unpack it`,
      { cause: error },
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
