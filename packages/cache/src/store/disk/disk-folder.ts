/**
 * The folder of a store, and its preparation before use.
 *
 * ```
 * lock, lock-….sock       who has it open (@bloomery/files); gone after a clean end
 * store.json              version of the layout, and the secret of the key hash
 * index/log-… snapshot-…  what is stored (index-journal.ts)
 * packs/00000001 …        heads and small bodies (packs.ts)
 * packs/reserve           room for the next start (reserve-file.ts)
 * bodies/4e/4e07…         large bodies, by SHA-256 of their content (body-file.ts)
 * tmp/…                   bodies that are arriving; deleted at each start
 * ```
 *
 * Keys are hashed with a secret of this folder, because clients choose them: a client that could
 * construct a thousand keys with one hash would make each lookup a thousand reads.
 *
 * A folder of another version, or whose `store.json` cannot be read, is cleared of the store's own
 * files, because it is only a cache. A folder that contains other files and no `store.json` is
 * refused, because the path was probably mistyped.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isTemporaryName, writeAtomically } from '@bloomery/files';
import { SecretKey } from 'bloomery';
import type { BodyTable } from './bodies/body-table.ts';
import type { Packs } from './bodies/packs.ts';
import type { EntryIndex } from './index/entry-index.ts';

const VERSION = 1;
const PARTS = ['index', 'packs', 'bodies', 'tmp'];
/** The second is left by version 0.1.0 if it was killed while it wrote the first. */
const OWN_FILES = ['store.json', 'store.json.tmp'];

/** Creates the folder if it does not exist. Refuses a folder with foreign files. */
export function prepareFolder(folder: string): void {
  // Bodies may be private to the clients that may request them, and the secret must stay secret.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const foreign = readdirSync(folder).filter(
    (name) =>
      !PARTS.includes(name) &&
      !OWN_FILES.includes(name) &&
      !isTemporaryName(name) &&
      !name.startsWith('lock') &&
      name !== 'lost+found',
  );
  if (foreign.length > 0) {
    throw new Error(
      `Cannot keep a store in ${folder}: expected an empty folder or that of a store, got ${foreign.slice(0, 3).join(', ')}`,
    );
  }
}

/**
 * Called under the lock: creates the parts and empties `tmp`. Returns the secret with which keys
 * are hashed.
 */
export function readFolder(folder: string): SecretKey {
  let secret = readSecret(folder);
  if (secret === undefined) {
    for (const part of PARTS) rmSync(join(folder, part), { recursive: true, force: true });
    secret = randomBytes(16);
    // `recursive` removes a directory of that name as well.
    for (const name of OWN_FILES) rmSync(join(folder, name), { recursive: true, force: true });
    const text = JSON.stringify({ version: VERSION, secret: secret.toString('hex') });
    writeAtomically(join(folder, 'store.json'), Buffer.from(`${text}\n`), { mode: 0o600 });
  }
  rmSync(join(folder, 'tmp'), { recursive: true, force: true });
  for (const part of PARTS) mkdirSync(join(folder, part), { recursive: true, mode: 0o700 });
  return new SecretKey(secret);
}

/** Slots whose record cannot exist. */
export function* missingRecords(index: EntryIndex, packs: Packs): Iterable<number> {
  for (let slot = 0; slot < index.bound; slot++) {
    if (!index.used(slot)) continue;
    if (!packs.holds(index.pack[slot], index.offset[slot], index.recordBytes[slot])) yield slot;
  }
}

/**
 * Deletes body files that no entry refers to, left by a process that died between writing the file
 * and the log.
 */
export async function sweepBodyFiles(folder: string, bodies: BodyTable): Promise<void> {
  for (const part of readdirSync(join(folder, 'bodies'), { withFileTypes: true })) {
    const path = join(folder, 'bodies', part.name);
    // A file where only folders belong: it is not ours, and in the way of bodies.
    if (!part.isDirectory()) {
      await rm(path, { force: true });
      continue;
    }
    for (const name of readdirSync(path)) {
      const known = /^[0-9a-f]{64}$/.test(name) && bodies.find(Buffer.from(name, 'hex')) !== 0;
      if (!known) await rm(join(path, name), { force: true, recursive: true });
    }
  }
}

function readSecret(folder: string): Buffer | undefined {
  try {
    const { version, secret } = JSON.parse(readFileSync(join(folder, 'store.json'), 'utf8'));
    if (version === VERSION && /^[0-9a-f]{32}$/.test(secret)) return Buffer.from(secret, 'hex');
  } catch {
    // Absent, or damaged.
  }
  return undefined;
}
