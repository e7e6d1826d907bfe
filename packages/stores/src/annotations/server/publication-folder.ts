/**
 * The folder of a publisher: for each group, the static files that clients download, and the steps
 * that the next publication needs (docs/spec/annotations.md).
 *
 *     files/GROUP/head, full-EPOCH, u1-EPOCH …      for a file server or a CDN
 *     steps/GROUP/FROM-TO                           for the publisher alone
 *
 * Each file is written atomically, and the head last: a publication is visible when its head is. A
 * crash before that leaves files that the next publication removes. What is here follows from the
 * notes: a lost folder costs all clients a full download, and nothing else.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '@bloomery/files';
import { FrameError } from 'bloomery';
import { readSignature, type SignEd25519 } from 'bloomery/signing';
import { expandFrame } from 'bloomery/wire';
import { listKey } from '../pages/page-id.ts';
import { fullFile, HEAD_FILE, MOST_FILE_BYTES, PERIOD_S, readFileName } from '../publication/list-files.ts';
import { buildList, type ListStep, type PublishedList, publishList } from '../publication/publish-list.ts';
import type { Group } from './sqlite-notes.ts';

export interface PublicationFolderOptions {
  readonly folder: string;
  readonly sign: SignEd25519;
  readonly periodS?: number;
}

/** A publication that was made. */
export interface PublishedGroup {
  readonly group: string;
  readonly epoch: number;
  readonly pages: number;
  readonly capacity: number;
  /** The bytes of each file but the head. */
  readonly bytes: Readonly<Record<string, number>>;
}

export class PublicationFolder {
  readonly periodS: number;
  readonly #folder: string;
  readonly #sign: SignEd25519;

  constructor({ folder, sign, periodS = PERIOD_S }: PublicationFolderOptions) {
    this.#folder = folder;
    this.#sign = sign;
    this.periodS = periodS;
  }

  /** The folder of the static files of all groups. */
  get files(): string {
    return join(this.#folder, 'files');
  }

  /** Publishes the list of a group. */
  async publish(
    group: Group,
    urls: readonly string[],
    { nowS, signal }: { readonly nowS: number; readonly signal?: AbortSignal | undefined },
  ): Promise<PublishedGroup> {
    const files = join(this.files, group.name);
    const steps = join(this.#folder, 'steps', group.name);
    for (const folder of [files, steps]) mkdirSync(folder, { recursive: true });
    const lastEpoch = lastEpochOf(files);
    const last = listOf(files, lastEpoch);
    const key = group.key === null ? undefined : await listKey(group.key);
    const list = buildList(urls, { key, last: last?.frame });
    const made = await publishList({
      group: group.name,
      nowS,
      periodS: this.periodS,
      frame: list.encode(),
      last,
      ...(lastEpoch !== null && { lastEpoch }),
      steps: last === null ? [] : readSteps(steps),
      sign: this.#sign,
      signal,
    });
    for (const step of made.steps) {
      const path = join(steps, stepName(step));
      if (!existsSync(path)) writeAtomically(path, step.update);
    }
    for (const [name, bytes] of made.files) writeAtomically(join(files, name), bytes);
    writeAtomically(join(files, HEAD_FILE), made.head);
    this.#removeOld(files, steps, made.epoch, made.steps);
    return {
      group: group.name,
      epoch: made.epoch,
      pages: urls.length,
      capacity: list.capacity ?? 0,
      bytes: Object.fromEntries([...made.files].map(([name, bytes]) => [name, bytes.length])),
    };
  }

  /** Files of earlier publications stay for two periods, for clients that read the old head. */
  #removeOld(files: string, steps: string, epoch: number, kept: readonly ListStep[]): void {
    for (const name of readdirSync(files)) {
      const file = readFileName(name);
      if (file !== null && (file.epoch > epoch || file.epoch < epoch - 2 * this.periodS))
        rmSync(join(files, name));
    }
    const names = new Set(kept.map(stepName));
    for (const name of readdirSync(steps)) if (STEP.test(name) && !names.has(name)) rmSync(join(steps, name));
  }
}

const STEP = /^(\d{1,16})-(\d{1,16})$/;

function stepName({ from, to }: ListStep): string {
  return `${from}-${to}`;
}

/** The epoch of the head, or null if there is none that can be read. */
function lastEpochOf(files: string): number | null {
  return readOrNull(() => readSignature(readFileSync(join(files, HEAD_FILE))).statement.epoch);
}

/** The list of an epoch, or null if it cannot be read. */
function listOf(files: string, epoch: number | null): PublishedList | null {
  if (epoch === null) return null;
  return readOrNull(() => ({
    epoch,
    frame: expandFrame(readFileSync(join(files, fullFile(epoch))), { maxBytes: MOST_FILE_BYTES }),
  }));
}

/** A file that is missing or damaged costs clients a full download, and is no reason to stop. */
function readOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FrameError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function readSteps(folder: string): ListStep[] {
  return readdirSync(folder)
    .map((name) => STEP.exec(name))
    .filter((match) => match !== null)
    .map(([name, from, to]) => ({ from: Number(from), to: Number(to), name }))
    .sort((a, b) => a.to - b.to)
    .map(({ from, to, name }) => ({ from, to, update: readFileSync(join(folder, name)) }));
}
