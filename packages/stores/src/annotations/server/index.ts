/**
 * The server of annotations: notes in SQLite, signed static files, and the questions over HTTP
 * (docs/spec/annotations.md). `bloomery annotations serve` runs it.
 *
 * @example
 * ```ts
 * import { AnnotationService, PublicationFolder, SqliteNotes } from '@bloomery/stores/annotations/server';
 *
 * const notes = new SqliteNotes('notes.sqlite', Database);
 * const publications = new PublicationFolder({ folder: 'public', sign });
 * const service = await AnnotationService.start({ notes, publications, publicKey, name, host, port, nowMs });
 * ```
 */

export { AnnotationError, type AnnotationErrorCode } from './annotation-error.ts';
export { AnnotationService, type AnnotationServiceOptions } from './annotation-service.ts';
export { checkImport, checkNote, MOST_NOTES_OF_PAGE, MOST_TEXT, type NewNote } from './note-rules.ts';
export {
  PublicationFolder,
  type PublicationFolderOptions,
  type PublishedGroup,
} from './publication-folder.ts';
export {
  type AnnotatedPage,
  type FullNote,
  type Group,
  type ImportedNote,
  type Note,
  type NoteState,
  type NotesDatabase,
  type NotesDatabaseConstructor,
  SqliteNotes,
  type User,
} from './sqlite-notes.ts';
