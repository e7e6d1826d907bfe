/** Many processes of curl or aria2c that take one file from one origin, each for itself. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';

export type PlainClient = 'curl' | 'aria2c';

export interface PlainFigures {
  /** Time until the last was done, by the time of one download alone. */
  readonly ratio: number;
  readonly copies: number;
}

export async function measurePlain(
  client: PlainClient,
  nodes: number,
  bytes: number,
  bytesPerSecond: number,
): Promise<PlainFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'delivery-plain-'));
  await using origin = await ThrottledOrigin.start({ bytesPerSecond });
  const url = `${origin.url}${knownPath('plain', bytes)}`;
  const start = performance.now();
  try {
    await Promise.all(Array.from({ length: nodes }, (_, i) => run(client, url, folder, `${i}`)));
    const seconds = (performance.now() - start) / 1000;
    const sent = origin.requests.reduce((sum, request) => sum + request.bytes, 0);
    return { ratio: seconds / (bytes / bytesPerSecond), copies: sent / bytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(client: PlainClient, url: string, folder: string, name: string): Promise<void> {
  const words =
    client === 'curl'
      ? ['-s', '-f', '-o', join(folder, name), url]
      : ['-q', '--file-allocation=none', '-x', '4', '-k', '1M', '-d', folder, '-o', name, url];
  return new Promise((resolve, reject) => {
    const child = spawn(client, words, { stdio: 'ignore' });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`Cannot measure ${client}: it ended with ${code}`)),
    );
  });
}
