/** The questions of the extension's pages to its service worker. */

import type { AnnotatorStatus, PageNotes } from './annotator.ts';
import { chrome } from './chrome-api.ts';

export type Message =
  | { readonly type: 'page'; readonly url: string }
  | {
      readonly type: 'add';
      readonly group: string;
      readonly url: string;
      readonly text: string;
      readonly parent: string | null;
    }
  | { readonly type: 'change'; readonly id: string; readonly action: 'delete' | 'report' }
  | { readonly type: 'configure'; readonly invitation: string; readonly token: string }
  | { readonly type: 'status' }
  | { readonly type: 'sync' };

export interface Answers {
  readonly page: PageNotes;
  readonly add: null;
  readonly change: null;
  readonly configure: AnnotatorStatus;
  readonly status: AnnotatorStatus;
  readonly sync: AnnotatorStatus;
}

export type Reply<T> = { readonly value: T } | { readonly error: string };

/** Asks the service worker. Throws with its reason. */
export async function askWorker<M extends Message>(message: M): Promise<Answers[M['type']]> {
  const reply = (await chrome.runtime.sendMessage(message)) as Reply<Answers[M['type']]> | undefined;
  if (reply === undefined) throw new Error('Cannot ask the service worker: expected an answer, got none');
  if ('error' in reply) throw new Error(reply.error);
  return reply.value;
}
