/**
 * The requests that a simulated fleet serves, in the order of their times. Traces come from a
 * generator, from a recorded file or from an access log (`traces/`); the simulation reads them once
 * and never holds a whole one.
 *
 * An object is a dense number, because a simulation keeps arrays by object. Its key is a URL all
 * the same (`keyOfObject`), so that summaries and ghosts hash the same kind of key as a real node.
 */

export interface TraceRequest {
  /** Time since the beginning of the trace. It never goes back. */
  readonly timeMs: number;
  /** The node whose client asks, from 0. */
  readonly node: number;
  /** The object, from 0 without large gaps. */
  readonly object: number;
  /** Length of its body. It is the same at each request for the object. */
  readonly bytes: number;
}

export type Trace = Iterable<TraceRequest>;

/** The cache key of an object. */
export function keyOfObject(object: number): string {
  return `http://origin.example/${object}`;
}
