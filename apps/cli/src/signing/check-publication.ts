/**
 * `verify --signed-by`: whether a file is the one that its publisher signed, and what is printed
 * about it. That it is not is an answer (exit code 1). A signature or a key that cannot be read is
 * an error (exit code 2).
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FrameError } from 'bloomery';
import { SignatureError, type SignatureErrorCode, type Statement, verifySignature } from 'bloomery/signing';
import { fileError } from '../files/frame-error-text.ts';
import { formatBytes } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';
import { withLastAccepted } from './accepted-state.ts';
import { indexedFolder, indexPlace } from './index-digest.ts';
import { readPublicKeyFile } from './key-files.ts';
import { compareFile, compareIndex, isFolder } from './published.ts';

export interface PublicationOptions {
  readonly signedBy: readonly string[];
  readonly signature?: string;
  readonly name?: string;
  readonly atLeastEpoch?: number;
  readonly state?: string;
  readonly base?: string;
}

export interface PublicationReport {
  /** The file with the signature. */
  readonly signature: string;
  readonly signed: boolean;
  readonly structure?: string;
  readonly name?: string;
  readonly epoch?: number;
  /** Number of bytes of the signed contents, and their SHA-256 in hexadecimal digits. */
  readonly length?: number;
  readonly sha256?: string;
  readonly root?: string;
  /** The reason why it is not signed. */
  readonly code?: SignatureErrorCode;
  readonly reason?: string;
}

/** The place of the signature of a file or an index, unless the user says otherwise. */
export function signaturePath(path: string): string {
  return isFolder(path) ? join(indexPlace(indexedFolder(path)), 'text.sig') : `${path}.sig`;
}

/** Verifies signature, name, epoch and contents. */
export async function checkPublication(
  path: string,
  options: PublicationOptions,
): Promise<PublicationReport> {
  const keys = options.signedBy.map(readPublicKeyFile);
  const signature = options.signature ?? signaturePath(path);
  const bytes = readSignatureFile(path, signature);
  const { name, atLeastEpoch, state, base } = options;
  try {
    const statement = await withLastAccepted(state, bytes, async (last) => {
      if (last !== undefined && last.name !== (name ?? '')) {
        throw new UsageError(`${state} remembers ${shownName(last.name)}; use a file for each name`);
      }
      const trusted = await verifySignature(bytes, { keys, name, atLeastEpoch, last });
      if (isFolder(path)) await compareIndex(indexedFolder(path), trusted);
      else await compareFile(path, trusted, base);
      return trusted;
    });
    return { signature, signed: true, ...factsOf(statement) };
  } catch (error) {
    if (error instanceof FrameError) throw fileError(signature, error);
    if (!(error instanceof SignatureError) || error.code === 'unsupported') throw error;
    return { signature, signed: false, code: error.code, reason: reasonOf(error, options) };
  }
}

/** Lines for people: a name, whether it is good if that is the question, and a text. */
export function publicationRows(
  report: PublicationReport,
  keys: readonly string[],
): [name: string, good: boolean | undefined, text: string][] {
  const { signed, structure, name, epoch, length = 0, sha256, reason = '' } = report;
  if (!signed) return [['signature', false, reason]];
  return [
    ['signature', true, `made with ${keys.length === 1 ? keys[0] : 'one of the keys'}`],
    ['name', undefined, name === '' ? 'none' : `${name}`],
    ['epoch', undefined, `${epoch}`],
    [
      'contents',
      true,
      `${structure}, ${structure === 'TextIndex' ? 'list of files' : formatBytes(length)}, SHA-256 ${sha256}`,
    ],
  ];
}

function factsOf({ structure, name, epoch, length, sha256, root }: Statement) {
  return {
    structure,
    name,
    epoch,
    length,
    sha256: hex(sha256),
    ...(root === undefined ? {} : { root: hex(root) }),
  };
}

function readSignatureFile(path: string, signature: string): Uint8Array {
  if (!existsSync(signature)) {
    throw new UsageError(`${path} has no signature ${signature}; --signature names another file`);
  }
  return Uint8Array.from(readFileSync(signature));
}

function reasonOf({ code, message }: SignatureError, { name, state }: PublicationOptions): string {
  const [, expected, got] = /expected (.*), got (.*)$/.exec(message) ?? [];
  switch (code) {
    case 'forged':
      return 'it was not made with this key, or it was changed';
    case 'name':
      return name === undefined
        ? `it is for ${got}; --name accepts that one`
        : `it is for ${got}, expected ${expected}`;
    case 'stale':
      return `it is older than what is accepted: expected ${expected}, got ${got}`;
    case 'conflict':
      return `${state} has another file with the same epoch, so the publisher signed two; trust neither`;
    default:
      return `it is for other contents: expected ${expected}, got ${got}`;
  }
}

function shownName(name: string): string {
  return name === '' ? 'a publication without a name' : `the name ${JSON.stringify(name)}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
