/**
 * Listeners that are told which keys a store has. They are called in the middle of a change. A
 * listener that throws must neither interrupt the change nor keep the others from being called. It
 * is a bug in the listener, and is reported as a warning of the process.
 */

import type { StoredResponse } from '../policy/stored-response.ts';

/**
 * A key begins (`added`) or ceases (`removed`) to be stored, or it stays and other responses are
 * stored under it than before (`changed`): one was refreshed, replaced, or came or went beside
 * others.
 */
export type StoreChange = 'added' | 'removed' | 'changed';

/**
 * `response` is the response that is new under the key. It is undefined if none is new, and after
 * `changed` also if the store would have to read it.
 */
export type KeyListener = (key: string, change: StoreChange, response: StoredResponse | undefined) => void;

export function tellListeners(
  listeners: Iterable<KeyListener>,
  key: string,
  change: StoreChange,
  response?: StoredResponse,
): void {
  for (const listener of listeners) {
    try {
      listener(key, change, response);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }
}
