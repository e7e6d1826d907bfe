/**
 * The changes of packets on disk: one line of JSON for each, in two files. When the newer file is
 * full, the older one is removed and the newer takes its place. A line that a kill cut is skipped.
 */

import { appendFileSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '@bloomery/files';
import type { ChangeKind } from '../transforms/packet-forms.ts';
import type { Transform } from '../transforms/transform-table.ts';

const NEWER = 'changes.log';
const OLDER = 'changes.old.log';
const KINDS: readonly ChangeKind[] = ['nat', 'fragment', 'tunnel', 'icmp'];

export class TransformLog {
  readonly #folder: string;
  readonly #mostBytes: number;
  #lines: string[] = [];

  constructor(folder: string, mostBytes = 8 << 20) {
    this.#folder = folder;
    this.#mostBytes = mostBytes;
  }

  /** The changes of earlier runs, the oldest first. */
  *read(): Generator<Transform, void, undefined> {
    for (const name of [OLDER, NEWER]) {
      for (const line of textOf(join(this.#folder, name)).split('\n')) {
        const transform = parseLine(line);
        if (transform !== null) yield transform;
      }
    }
  }

  add({ kind, low, high, earlier, timeS }: Transform): void {
    const packet = Buffer.from(earlier).toString('base64');
    this.#lines.push(JSON.stringify([kind, low, high, packet, timeS]));
  }

  /** Writes the changes since the last call. A full disk loses them, not the collector. */
  flush(): void {
    if (this.#lines.length === 0) return;
    const path = join(this.#folder, NEWER);
    // The first newline ends a line that a kill cut.
    const text = `\n${this.#lines.join('\n')}\n`;
    this.#lines = [];
    try {
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (size > this.#mostBytes / 2) renameSync(path, join(this.#folder, OLDER));
      appendFileSync(path, text, { mode: 0o600 });
    } catch (error) {
      if (errorCode(error) !== 'ENOSPC' && errorCode(error) !== 'EDQUOT') throw error;
    }
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}

function parseLine(line: string): Transform | null {
  if (line === '') return null;
  try {
    const [kind, low, high, packet, timeS] = JSON.parse(line) as unknown[];
    const isRight =
      KINDS.includes(kind as ChangeKind) &&
      Number.isInteger(low) &&
      Number.isInteger(high) &&
      typeof packet === 'string' &&
      typeof timeS === 'number';
    if (!isRight) return null;
    const earlier = Uint8Array.from(Buffer.from(packet, 'base64'));
    return { kind: kind as ChangeKind, low: low as number, high: high as number, earlier, timeS };
  } catch {
    return null;
  }
}
