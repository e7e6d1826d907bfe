/**
 * Listeners that are told which keys a store has. They are called in the middle of a change. A
 * listener that throws must neither interrupt the change nor keep the others from being called. It
 * is a bug in the listener, and is reported as a warning of the process.
 */

export type KeyListener = (key: string, change: 'added' | 'removed') => void;

export function tellListeners(
  listeners: Iterable<KeyListener>,
  key: string,
  change: 'added' | 'removed',
): void {
  for (const listener of listeners) {
    try {
      listener(key, change);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }
}
