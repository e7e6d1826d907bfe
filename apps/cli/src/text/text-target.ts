/** A file that is searched, on a disk or on a server. */

import type { FileAnswer } from './search-indexes.ts';
import type { FileKind, ReadBytes } from './text-file.ts';

export interface TextTarget {
  /** The name that is printed. */
  readonly path: string;
  open(): Promise<OpenText>;
}

export interface OpenText {
  readonly path: string;
  readonly kind: FileKind;
  readonly size: number;
  /** The parts that must be read. */
  readonly answer: FileAnswer;
  /** Reads at the places of the answer. */
  readonly read: ReadBytes;
  /** Reads the file from its beginning to its end. */
  readonly readAll: ReadBytes;
  /** Throws if the file was changed since it was opened. */
  check(): void | Promise<void>;
  close(): void;
}
