/**
 * `reconcile` between two machines: network namespaces with TCP between them, a link that loses
 * packets, and either side killed in the middle. A run ends with the right answer or with an error,
 * and never prints a part.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withEffort } from '@bloomery/testkit/effort';
import { type Space, VirtualNetwork, whyNoNetwork } from '@bloomery/testkit/network/virtual-network';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMAND, temporaryFolder } from '../run-command.ts';

const why = whyNoNetwork();
const CARRIER = fileURLToPath(new URL('tcp-carrier.mjs', import.meta.url));
const PORT = '4021';
const cwd = temporaryFolder();
/** Each side has this many keys of its own, so that some 50 kB move in each direction. */
const OWN = 1000;
const KEYS = 10_000;
/** Bytes of answers in a session, at least. */
const ANSWER_BYTES = 50_000;
const many = (from: number, end: number) =>
  Array.from({ length: end - from }, (_, i) => `https://example.org/objects/${from + i}/page.html`);
const EXPECTED = [
  ...many(0, OWN).map((key) => `< ${key}`),
  ...many(KEYS, KEYS + OWN).map((key) => `> ${key}`),
].join('\n');

let network: VirtualNetwork;
let near: Space;
let far: Space;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function inSpace(space: Space, ...words: string[]): ChildProcess {
  const [program, ...args] = [...space.prefix, process.execPath, ...words];
  return spawn(program!, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs `reconcile` at the near machine against the far one. */
async function reconcile(...options: string[]): Promise<Ended> {
  const remote = ['--', process.execPath, CARRIER, 'connect', far.addresses[0]!, PORT];
  const child = inSpace(near, COMMAND, 'reconcile', ...options, 'here.txt', ...remote);
  const said = { stdout: '', stderr: '' };
  child.stdout!.on('data', (text) => {
    said.stdout += text;
  });
  child.stderr!.on('data', (text) => {
    said.stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

/** Lets a side be killed in the next session, after so many bytes of answers. */
function killAfter(side: 'here' | 'there', bytes: number): string {
  const file = join(cwd, `kill-${side}`);
  writeFileSync(file, `${bytes}`);
  return file;
}

describe.skipIf(why !== null)(`two machines${why === null ? '' : ` (skipped: ${why})`}`, () => {
  beforeAll(async () => {
    writeFileSync(join(cwd, 'here.txt'), `${many(0, KEYS).join('\n')}\n`);
    writeFileSync(join(cwd, 'there.txt'), `${many(OWN, KEYS + OWN).join('\n')}\n`);
    network = await VirtualNetwork.start();
    near = await network.plugIn('near');
    far = await network.plugIn('far');
    const answer = [process.execPath, COMMAND, 'reconcile', '--serve', 'there.txt'];
    const server = inSpace(far, CARRIER, 'listen', far.addresses[0]!, PORT, ...answer);
    server.stderr!.resume();
    await once(server.stdout!, 'data');
    await network.lose(near, { percent: 10 });
    await network.lose(far, { percent: 10 });
  }, 60_000);
  afterAll(() => network?.[Symbol.asyncDispose]());

  test('a link that loses every tenth packet in both directions changes nothing', async () => {
    const { code, stdout } = await reconcile();
    expect([code, stdout.trimEnd()]).toEqual([1, EXPECTED]);
  });

  test('the far side is killed anywhere in a session: an error, and no part of an answer', async () => {
    const random = new Random(5);
    for (let round = 0; round < withEffort(3); round++) {
      const file = killAfter('there', 1 + random.below(ANSWER_BYTES));
      const { code, stdout, stderr } = await reconcile();
      expect(existsSync(file)).toBe(false);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/ended with exit code 0 before the session was over/);
    }
  });

  test('the near side is killed anywhere in a session: no answer, and the next run is right', async () => {
    const random = new Random(6);
    for (let round = 0; round < withEffort(2); round++) {
      const file = killAfter('here', 1 + random.below(ANSWER_BYTES));
      const { code, stdout } = await reconcile();
      expect(existsSync(file)).toBe(false);
      expect([code, stdout]).toEqual([null, '']);
    }
    const { code, stdout } = await reconcile();
    expect([code, stdout.trimEnd()]).toEqual([1, EXPECTED]);
  });

  test('--retries begins again by itself after the far side was killed', async () => {
    const file = killAfter('there', ANSWER_BYTES / 2);
    const { code, stdout, stderr } = await reconcile('--retries', '3');
    expect(existsSync(file)).toBe(false);
    expect([code, stdout.trimEnd()]).toEqual([1, EXPECTED]);
    expect(stderr).toMatch(/starting again \(1 of 3\)/);
    rmSync(file, { force: true });
  });
});
