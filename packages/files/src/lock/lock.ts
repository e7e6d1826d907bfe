/**
 * One owner at a time, for a single file or for a folder, across processes and containers.
 *
 * ```
 * for a folder      for a file NAME
 * lock              .NAME.bloomery-lock         who holds it (lock-owner.ts)
 * lock-TOKEN.sock   .bloomery-lock-TOKEN.sock   the socket on which the owner listens
 * lock-TOKEN        .bloomery-lock-TOKEN        briefly: the lock before it has its name
 * lock-stale        .NAME.bloomery-lock-stale   briefly: a stale lock is being removed
 * ```
 *
 * A lock is made by linking a finished file to its name. So it is never seen half written, and only
 * one of two claimants succeeds. Where that is impossible, a lock of a file has the short form
 * (lock-owner.ts); a lock of a folder does not, because signs of life are written into it.
 *
 * A killed process leaves its lock behind. A lock is stale if its owner is gone
 * (owner-liveness.ts). Two claimants that find the same stale lock must not both remove it, or the
 * second removes the lock that the first has just made. So a claimant removes it only while it
 * holds a second lock, `…-stale`, and has looked again. The second lock is like any other: if its
 * owner is killed, it is removed in the same way.
 *
 * A lock held by this process itself counts as well: two stores in two threads would be as wrong as
 * two processes.
 *
 * Where it breaks down: other programs ignore the lock. And between two machines, if the owner of a
 * folder hangs for half a minute and then goes on, it and the next owner both write for up to 5 s.
 * docs/notes/locks.md has the alternatives that we refused.
 */

import { closeSync, fstatSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ClaimOptions, LockCandidate, type LockPlace } from './lock-candidate.ts';
import { holderOf, type LockHolder, type LockRecord, readLock, UNKNOWN_HOLDER } from './lock-owner.ts';
import type { LockSocket } from './lock-socket.ts';
import { livenessOf } from './owner-liveness.ts';
import { pause } from './pause.ts';

/** A lock that this process holds. */
export class Lock {
  readonly path: string;
  readonly text: string;
  /** Whether the previous owner was gone without releasing it. */
  readonly unclean: boolean;
  readonly #socket: LockSocket | undefined;

  constructor(path: string, text: string, unclean: boolean, socket: LockSocket | undefined) {
    this.path = path;
    this.text = text;
    this.unclean = unclean;
    this.#socket = socket;
  }

  /** Removes the lock, unless another owner has it by now. A second call does nothing. */
  release(): void {
    const isOurs = readLock(this.path)?.text === this.text;
    // The name of the socket is removed first. If this process is killed here, the next owner finds
    // and removes the lock. In the other order, a name would stay that no lock mentions.
    this.#socket?.unlink();
    if (isOurs) rmSync(this.path, { force: true });
    this.#socket?.close();
  }
}

/**
 * Takes the lock, or returns its holder. It waits only to find out whether an owner that cannot be
 * seen is alive.
 */
export async function claimLock(place: LockPlace, options: ClaimOptions): Promise<Lock | LockHolder> {
  options.signal?.throwIfAborted();
  const path = join(place.folder, place.name);
  // Looks first, so that a claimant that is killed while it waits leaves no file behind.
  const record = readLock(path);
  if (record !== undefined && (await livenessOf(record, place.folder)) === 'alive')
    return holderOf(record.owner);
  const candidate = await LockCandidate.make(place, options).catch(async (error) => {
    // Without room for a claim, the caller is still told whether there is an owner.
    const claimant = { place, options, now: Date.now };
    if (record === undefined || (await isGone(record, path, claimant))) throw error;
    return null;
  });
  if (candidate === null) return holderOf(record!.owner);
  let won = false;
  try {
    const holder = await claim(candidate, place.name);
    if (holder !== undefined) return holder;
    won = true;
    const lock = new Lock(path, candidate.text, candidate.foundStale, candidate.socket);
    // Errors are ignored: leftovers do no harm, and those of another user cannot be removed.
    if (lock.unclean) await removeLeftCandidates(candidate).catch(() => {});
    return lock;
  } catch (error) {
    options.signal?.throwIfAborted();
    // The error names the lock, because the user does not know its temporary names.
    throw Object.assign(error as Error, { path });
  } finally {
    candidate.close(won);
  }
}

const TOKEN = /^[0-9a-f]{16}$/;
const ATTEMPTS = 20;
/**
 * A lock that cannot be understood counts as stale if it does not change for this time. Either it
 * is being written at this moment, or it was damaged when the machine went down.
 */
const DAMAGED_MS = 1000;
/** An unfinished lock lives for some milliseconds. */
const LEFT_MS = 10_000;

/** Takes a name in the folder. Returns the holder if there is one. */
async function claim(candidate: LockCandidate, name: string): Promise<LockHolder | undefined> {
  const { folder } = candidate.place;
  const path = join(folder, name);
  for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
    candidate.options.signal?.throwIfAborted();
    if (candidate.linkTo(path)) return undefined;
    const record = readLock(path);
    // It was released a moment ago.
    if (record === undefined) continue;
    if (!(await isGone(record, path, candidate))) {
      if (readLock(path)?.text === record.text) return holderOf(record.owner);
      continue;
    }
    candidate.foundStale = true;
    const stale = `${name}-stale`;
    const breaker = await claim(candidate, stale);
    if (breaker !== undefined) return breaker;
    if (readLock(path)?.text === record.text) {
      rmSync(path, { force: true });
      removeSideFiles(candidate.place, record);
    }
    rmSync(join(folder, stale), { force: true });
  }
  return UNKNOWN_HOLDER;
}

type Claimant = Pick<LockCandidate, 'place' | 'options' | 'now'>;

async function isGone(record: LockRecord, path: string, candidate: Claimant): Promise<boolean> {
  const liveness = await livenessOf(record, candidate.place.folder);
  if (liveness === 'unseen') return isSilent(path, candidate, candidate.options.silenceMs);
  if (liveness === 'damaged') return isSilent(path, candidate, DAMAGED_MS);
  return liveness === 'gone';
}

async function isSilent(path: string, candidate: Claimant, silenceMs: number): Promise<boolean> {
  const last = lastSign(path);
  if (last === undefined || candidate.now() - last > silenceMs) return true;
  const until = performance.now() + silenceMs;
  while (performance.now() < until) {
    await pause(Math.min(500, silenceMs / 10), candidate.options.signal);
    if (lastSign(path) !== last) return false;
  }
  return true;
}

/**
 * The time of the last sign, read by a descriptor: a network file system may cache the times of a
 * name, and asks again when the file is opened.
 */
function lastSign(path: string): number | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return fstatSync(descriptor).mtimeMs;
  } finally {
    closeSync(descriptor);
  }
}

function removeSideFiles({ folder, side }: LockPlace, { owner }: LockRecord): void {
  if (typeof owner === 'string' || owner.token === '') return;
  for (const end of ['', '.sock']) rmSync(join(folder, side + owner.token + end), { force: true });
}

/** Removes the files of claimants that were killed before their lock had its name. */
async function removeLeftCandidates(candidate: LockCandidate): Promise<void> {
  const { folder, side } = candidate.place;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(side) || !TOKEN.test(name.slice(side.length))) continue;
    const path = join(folder, name);
    const record = readLock(path);
    if (record === undefined || candidate.now() - (lastSign(path) ?? 0) < LEFT_MS) continue;
    if ((await livenessOf(record, folder)) !== 'gone') continue;
    rmSync(path, { force: true });
    removeSideFiles(candidate.place, record);
  }
}
