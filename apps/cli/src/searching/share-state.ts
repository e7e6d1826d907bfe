/**
 * The file by which `find` reaches the `share` that runs: its control port and the token for it.
 * Only the user may read it.
 */

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { errorCode, writeAtomically } from '@bloomery/files';
import { UsageError } from '../usage-error.ts';

export interface ShareState {
  readonly control: string;
  readonly token: string;
  readonly pid: number;
}

export function defaultStateFile(): string {
  const home = process.env.XDG_STATE_HOME;
  return join(home?.startsWith('/') ? home : join(homedir(), '.local', 'state'), 'bloomery', 'share.json');
}

/** Writes the state of this process. Refuses the place of a `share` that still runs. */
export function writeShareState(path: string, state: ShareState): void {
  const before = readState(path);
  if (before !== null && before.pid !== state.pid && isAlive(before.pid))
    throw new UsageError(
      `${path} belongs to a share that runs (process ${before.pid}); --state names another file`,
    );
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, Buffer.from(`${JSON.stringify(state)}\n`), { force: true, mode: 0o600 });
}

/** Removes the state, if it is that of this process. */
export function removeShareState(path: string): void {
  if (readState(path)?.pid === process.pid) rmSync(path, { force: true });
}

/** Asks the `share` that runs. */
export async function askShare(path: string, target: string, method = 'GET'): Promise<unknown> {
  const state = readState(path);
  if (state === null)
    throw new UsageError('no share runs here; start "bloomery share", or name its file with --state');
  let response: Response;
  try {
    response = await fetch(new URL(target, state.control), {
      method,
      headers: { Authorization: `Bearer ${state.token}` },
      signal: AbortSignal.timeout(90_000),
    });
  } catch (error) {
    throw new UsageError(`the share of ${path} does not answer; start "bloomery share" again`, {
      cause: error,
    });
  }
  const answer = (await response.json()) as { readonly error?: string };
  if (!response.ok) throw new UsageError(answer.error ?? `the share answered ${response.status}`);
  return answer;
}

function readState(path: string): ShareState | null {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as ShareState;
    return typeof state?.control === 'string' && typeof state.token === 'string' ? state : null;
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
