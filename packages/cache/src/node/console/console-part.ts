/**
 * The console of a node that is several processes. The worker that took the connection of a console
 * serves it. The primary has the history and the numbers of the answers, which belong to the whole
 * node. All of it is plain data that survives JSON.
 */

import type { Answer, Busiest } from './answer-book.ts';
import type { AnswersPart, BusyPart } from './answer-recorder.ts';
import type { HistoryRow } from './history-ring.ts';
import type { History, Span } from './node-history.ts';
import type { Who } from './who.ts';

/** The part of one process, as the primary asks for it. */
export interface ConsolePart {
  answers(after: number): AnswersPart;
  busiest(): BusyPart;
  /** Whether this process stores a key. */
  stored(key: string): Promise<Who['local']>;
  /** A row of the hour is complete. */
  rowDone(row: HistoryRow): void;
  /** Another process was given a wrong token. */
  noteWrongToken(): void;
}

/** The answers of the whole node after some number. */
export interface NumberedAnswers {
  readonly lastId: number;
  readonly answers: readonly Answer[];
}

/** The whole node, as a worker asks its primary. */
export interface WholeNode {
  history(span: Span): Promise<History>;
  answers(after: number): Promise<NumberedAnswers>;
  busiest(): Promise<Busiest>;
  /** Whether the process that owns a key stores it. */
  stored(owner: number, key: string): Promise<Who['local']>;
  /** This process was given a wrong token. */
  wrongToken(): void;
}

/** The questions of a worker to its primary, and their answers. */
export type ConsoleQuestion =
  | { readonly about: 'history'; readonly span: Span }
  | { readonly about: 'answers'; readonly after: number }
  | { readonly about: 'busiest' }
  | { readonly about: 'stored'; readonly owner: number; readonly key: string };

/** The questions of the primary to a worker. */
export type PartQuestion =
  | { readonly about: 'answers'; readonly after: number }
  | { readonly about: 'busiest' }
  | { readonly about: 'stored'; readonly key: string };

/** Answers a question of the primary. */
export function answerPart(part: ConsolePart, question: PartQuestion): unknown {
  switch (question.about) {
    case 'answers':
      return part.answers(question.after);
    case 'busiest':
      return part.busiest();
    case 'stored':
      return part.stored(question.key);
  }
}
