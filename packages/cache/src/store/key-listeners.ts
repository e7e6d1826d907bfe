/**
 * Those who want to know which keys a store has. They are told in the middle of a change; one that throws must neither stop the change half way nor keep the others from
 * being told. It is a mistake in the listener, which is shown as a warning of the process.
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
