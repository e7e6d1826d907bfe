/**
 * A turn of the event loop of this process, by the timer that was there when the module was loaded.
 * Every promise that can settle has settled by then, and signals, input and reports of unhandled
 * rejections have come through.
 */

const setRealImmediate = setImmediate;

export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => void setRealImmediate(resolve));
}
