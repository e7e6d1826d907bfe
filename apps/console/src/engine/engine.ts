/**
 * The worker of *Look inside*: opens one file at a time and answers questions about it. The page
 * talks to it by messages with numbers (engine-messages.ts).
 */

import { askFilter } from './ask-filter.ts';
import { describeFilter } from './describe-filter.ts';
import type { EngineAnswer, EngineQuestion, EngineReply } from './engine-messages.ts';
import { type OpenedFilter, OpenFilterError, openFilter } from './open-filter.ts';

/** The worker's own global object, as far as it is used. */
interface WorkerScope {
  onmessage: ((event: { readonly data: EngineQuestion }) => void) | null;
  postMessage(reply: EngineReply): void;
}

/** The page hears of progress at most this often, in bytes. */
const PROGRESS_BYTES = 16 * 2 ** 20;

export function serve(scope: WorkerScope): void {
  let opened: OpenedFilter | null = null;
  const answer = async (question: EngineQuestion): Promise<EngineAnswer> => {
    if (question.kind === 'open') {
      opened = null;
      let told = 0;
      opened = await openFilter(question.file, (bytes) => {
        if (bytes - told < PROGRESS_BYTES) return;
        told = bytes;
        scope.postMessage({ id: question.id, progress: bytes });
      });
      return { kind: 'opened', facts: describeFilter(opened) };
    }
    if (opened === null) throw new OpenFilterError('Cannot ask: expected an open file, got none');
    return { kind: 'asked', answer: askFilter(opened, question.key) };
  };
  scope.onmessage = ({ data }) => {
    answer(data).then(
      (result) => scope.postMessage({ id: data.id, result }),
      (error: unknown) => scope.postMessage({ id: data.id, problem: problemText(error) }),
    );
  };
}

function problemText(error: unknown): string {
  if (error instanceof OpenFilterError) return error.message;
  return `This file could not be opened: ${error instanceof Error ? error.message : String(error)}`;
}
