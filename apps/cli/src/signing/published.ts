/**
 * The things that a publisher signs: a frame, a delta with the frame that it starts from, or the
 * text index of a folder. Here they become statements, and are compared with statements.
 */

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { FrameError } from 'bloomery';
import { DELTA_MAGIC, FRAME_MAGIC, hasMagic } from 'bloomery/frames';
import {
  SignatureError,
  type SignEd25519,
  type Statement,
  signFrame,
  signStatement,
  verifyContents,
  verifyDeltas,
  verifyFrame,
} from 'bloomery/signing';
import { applyDelta, OtherSnapshotError } from 'bloomery/wire';
import { readFrame } from '../conversion/plain-frame.ts';
import { readFilterBytes } from '../files/filter-file.ts';
import { fileError } from '../files/frame-error-text.ts';
import { UsageError } from '../usage-error.ts';
import { indexContents } from './index-digest.ts';

export interface SignOptions {
  readonly epoch: number;
  readonly name: string;
  readonly proofs: boolean;
  readonly base?: string | undefined;
  readonly sign: SignEd25519;
}

/** Whether a path is a folder, and so its index is meant. */
export function isFolder(path: string): boolean {
  return path !== '-' && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Signs a frame, or the frame that a delta leads to. Returns the bytes of the signature. */
export async function signFile(path: string, options: SignOptions): Promise<Uint8Array> {
  const { base, ...rest } = options;
  const bytes = await readFilterBytes(path);
  return namingFiles(path, async () => signFrame(await frameOf(path, bytes, base), { ...rest, sha256 }));
}

/** Signs the text index of a folder. */
export async function signIndex(folder: string, options: SignOptions): Promise<Uint8Array> {
  const list = await indexContents(folder);
  const { epoch, name, sign } = options;
  const statement = {
    structure: 'TextIndex',
    epoch,
    length: list.length,
    sha256: sha256(list),
    name,
  } as const;
  return signStatement(statement, sign);
}

/**
 * Compares a file, or a delta and its base, with a verified statement. Throws a `SignatureError` if
 * it is another one.
 */
export async function compareFile(path: string, statement: Statement, base?: string): Promise<void> {
  const bytes = await readFilterBytes(path);
  await namingFiles(path, async () => {
    if (!hasMagic(DELTA_MAGIC, bytes)) {
      if (base !== undefined) throw notADelta(path);
      return verifyFrame(statement, bytes, { sha256 });
    }
    return verifyDeltas(statement, (await baseFrame(path, base)).frame, [bytes], { sha256 });
  });
}

/** The same for the text index of a folder. */
export async function compareIndex(folder: string, statement: Statement): Promise<void> {
  if (statement.structure !== 'TextIndex') {
    throw new SignatureError(
      'contents',
      `Cannot trust the contents: expected a ${statement.structure}, got a text index`,
    );
  }
  await verifyContents(statement, await indexContents(folder), { sha256 });
}

/** The frame to sign. A delta is applied to its base. */
async function frameOf(path: string, bytes: Uint8Array, base: string | undefined): Promise<Uint8Array> {
  if (hasMagic(DELTA_MAGIC, bytes)) {
    const from = await baseFrame(path, base);
    return applyDelta(from.frame, bytes, { maxBytes: Number.POSITIVE_INFINITY });
  }
  if (base !== undefined) throw notADelta(path);
  if (!hasMagic(FRAME_MAGIC, bytes)) {
    throw new UsageError(
      `${path} is ${bytes.length === 0 ? 'empty' : 'no filter and no delta of bloomery'}; bloomery convert makes filters of those of other systems`,
    );
  }
  return bytes;
}

function baseFrame(path: string, base: string | undefined) {
  if (base !== undefined) return readFrame(base);
  throw new UsageError(`${path} is a delta; --base names the filter that it starts from`);
}

/** Errors of frames become errors that name the file. */
async function namingFiles<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FrameError) throw fileError(path, error);
    if (error instanceof OtherSnapshotError) {
      throw new UsageError(
        `${path} does not start from the filter of --base; name the one it was made from`,
        {
          cause: error,
        },
      );
    }
    throw error;
  }
}

function notADelta(path: string): UsageError {
  return new UsageError(`--base is for deltas, and ${path} is none`);
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}
