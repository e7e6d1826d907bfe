/**
 * The folder of a server of annotations: `notes.sqlite`, the publisher's keys `publisher` and
 * `publisher.pub`, and `public`, whose folder `files` is for a file server or a CDN.
 */

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  AnnotationError,
  type NotesDatabaseConstructor,
  PublicationFolder,
  SqliteNotes,
} from '@bloomery/stores/annotations/server';
import { loadLibsql } from '../joining/open-side.ts';
import { generateKeys, readPublicKeyFile, readSigner } from '../signing/key-files.ts';
import { UsageError } from '../usage-error.ts';

/** Opens the notes of a folder, runs `work` and closes them. */
export async function withNotes<T>(
  folder: string,
  work: (notes: SqliteNotes) => T | Promise<T>,
  { create = false }: { readonly create?: boolean } = {},
): Promise<T> {
  const path = join(folder, 'notes.sqlite');
  if (!create && !existsSync(path)) {
    throw new UsageError(`${path} does not exist; bloomery annotations serve ${folder} makes it`);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const Database = loadLibsql('annotations') as unknown as NotesDatabaseConstructor;
  let notes: SqliteNotes | undefined;
  try {
    notes = new SqliteNotes(path, Database);
    return await work(notes);
  } catch (error) {
    throw error instanceof AnnotationError ? new UsageError(error.message, { cause: error }) : error;
  } finally {
    notes?.close();
  }
}

/** The publisher of a folder. Its keys are made if there are none. */
export function openPublisher(
  folder: string,
  periodS?: number,
): { readonly publications: PublicationFolder; readonly publicKey: Uint8Array } {
  const path = join(folder, 'publisher');
  if (!existsSync(path)) generateKeys(path);
  const publications = new PublicationFolder({
    folder: join(folder, 'public'),
    sign: readSigner(path),
    ...(periodS !== undefined && { periodS }),
  });
  return { publications, publicKey: readPublicKeyFile(`${path}.pub`) };
}
