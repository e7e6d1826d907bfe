/** Reads notes as JSON lines, as `annotations export` prints them. */

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { AnnotationError, checkImport, type ImportedNote } from '@bloomery/stores/annotations/server';
import { UsageError } from '../usage-error.ts';

/** The notes of a file, or of standard input if its name is `-`. Empty lines are skipped. */
export async function readNoteLines(file: string): Promise<readonly ImportedNote[]> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  const name = file === '-' ? 'standard input' : file;
  const notes: ImportedNote[] = [];
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() === '') continue;
    try {
      notes.push(checkImport(JSON.parse(line)));
    } catch (cause) {
      if (!(cause instanceof AnnotationError || cause instanceof SyntaxError)) throw cause;
      const reason = cause instanceof SyntaxError ? 'expected a note as JSON' : cause.message;
      throw new UsageError(`${name}, line ${number}: ${reason}; nothing was imported`, { cause });
    }
  }
  return notes;
}
