/**
 * The memory of a client: the last signature that it accepted, in a file of its own
 * (`verify --state FILE`). An older publication, or another one with the same epoch, is refused by
 * it. The file is a copy of that signature, so there is no second format, and `verify` under one
 * lock reads it, compares and replaces it: two processes cannot set it back.
 *
 * The file is trusted: a person who can write it can make the client forget.
 */

import { readFileSync } from 'node:fs';
import { errorCode, placeOf, writeAtomically } from '@bloomery/files';
import { FrameError } from 'bloomery';
import { readSignature, type Statement } from 'bloomery/signing';
import { fileError } from '../files/frame-error-text.ts';
import { lockFile } from '../in-place/recovered-file.ts';

/**
 * Calls `accept` with the last statement in the state file, or undefined at the first time. If it
 * returns, the signature becomes the last one.
 */
export async function withLastAccepted<T>(
  path: string | undefined,
  signature: Uint8Array,
  accept: (last: Statement | undefined) => Promise<T>,
): Promise<T> {
  if (path === undefined) return accept(undefined);
  const place = placeOf(path) ?? path;
  const lock = await lockFile(place, { waitMs: WAIT_MS });
  try {
    const former = readFormer(place);
    const result = await accept(former === undefined ? undefined : statementOf(path, former));
    if (former === undefined || !former.equals(signature)) writeAtomically(place, signature, { force: true });
    return result;
  } finally {
    lock.release();
  }
}

function readFormer(place: string): Buffer | undefined {
  try {
    return readFileSync(place);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function statementOf(path: string, bytes: Uint8Array): Statement {
  try {
    return readSignature(Uint8Array.from(bytes)).statement;
  } catch (error) {
    if (error instanceof FrameError) throw fileError(path, error);
    throw error;
  }
}

const WAIT_MS = 10_000;
