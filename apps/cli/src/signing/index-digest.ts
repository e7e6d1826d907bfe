/**
 * The contents of the signature of a text index: the digests of the files in its folder
 * (docs/spec/signature.md). Each file is hashed as it is read, so an index of any size is signed in
 * little memory.
 */

import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileList, type ListedFile } from 'bloomery/signing';
import { UsageError } from '../usage-error.ts';

const LIST = 'text.json';
const FOLDER = '.bloomery';

/** The folder that is indexed, given that folder or the `.bloomery` inside it. */
export function indexedFolder(path: string): string {
  return basename(path) === FOLDER ? dirname(path) : path;
}

/** The place of the index in an indexed folder. */
export function indexPlace(folder: string): string {
  return join(folder, FOLDER);
}

/** The names of the index files beside the list, sorted. */
export function indexFiles(folder: string): string[] {
  return names(folder).filter((name) => name !== LIST);
}

/** The list of digests, as bytes. */
export async function indexContents(folder: string): Promise<Uint8Array> {
  const place = indexPlace(folder);
  const files: ListedFile[] = [];
  for (const name of names(folder)) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(place, name)), hash);
    files.push({ name, sha256: new Uint8Array(hash.digest()) });
  }
  return fileList(files);
}

function names(folder: string): string[] {
  const place = indexPlace(folder);
  const found = statSync(place, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(place) : [];
  if (!found.includes(LIST)) {
    throw new UsageError(`${folder} has no index; bloomery index ${folder} makes one`);
  }
  return found.filter((name) => name === LIST || name.endsWith('.text')).sort();
}
