/**
 * Ends the process after SIGINT, SIGTERM or SIGHUP in an orderly way. A lock is released, or keys
 * that wait are written first; then the process ends by the same signal, so that a shell or a
 * service manager sees the cause. A second signal does not wait for the writing.
 *
 * Handlers of Node run between two turns of the event loop, never within a synchronous write. A
 * loop over a long input therefore calls `letSignalsIn` now and then.
 */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Work to undo before the process ends. */
const undos = new Set<() => void>();
/** The part of the program that wants to finish first, and the signal that came meanwhile. */
let holder: AbortController | undefined;
let came: NodeJS.Signals | undefined;
let listening = false;

export interface HeldSignals {
  /** Aborted when a signal came. */
  readonly stop: AbortSignal;
  /** Ends the holding. If a signal came meanwhile, the process ends by it here. */
  close(): void;
}

/**
 * Holds the first signal back until `close`. Inside another holding it does nothing: the outer one
 * decides what happens first.
 */
export function holdSignals(): HeldSignals {
  if (holder !== undefined) return { stop: new AbortController().signal, close() {} };
  const mine = new AbortController();
  holder = mine;
  listen();
  return {
    stop: mine.signal,
    close() {
      holder = undefined;
      listen();
      if (came !== undefined) end(came);
    },
  };
}

/** Calls `undo` if a signal ends the process before the result is called. */
export function undoAtSignal(undo: () => void): () => void {
  undos.add(undo);
  listen();
  return () => {
    undos.delete(undo);
    listen();
  };
}

/** Waits for a turn of the event loop, in which signals are handled. */
export function letSignalsIn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Listens as long as anything waits for a signal. A listener that is there already stays: taking it
 * away and adding it again would leave a moment in which a signal ends the process at once.
 */
function listen(): void {
  const wanted = holder !== undefined || undos.size > 0;
  if (wanted === listening) return;
  listening = wanted;
  for (const signal of SIGNALS) {
    if (wanted) process.on(signal, onSignal);
    else process.off(signal, onSignal);
  }
}

function onSignal(signal: NodeJS.Signals): void {
  if (holder !== undefined && came === undefined) {
    came = signal;
    holder.abort();
  } else {
    end(signal);
  }
}

function end(signal: NodeJS.Signals): void {
  for (const undo of undos) undo();
  undos.clear();
  holder = undefined;
  listen();
  process.kill(process.pid, signal);
}
