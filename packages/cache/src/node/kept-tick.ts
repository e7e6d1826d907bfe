/**
 * Keeps the shape of Node's tick objects alive. Each call of `process.nextTick` makes such an
 * object by a literal with computed names, and an answer takes several of them. V8 compiles that
 * literal for the shape that it has seen. A full garbage collection at a moment without a tick
 * object removes the shape. The next one is another shape to V8, so it gives the literal up for the
 * rest of the process, and each tick takes five times as long (bench/cache/tick-shape.mjs).
 *
 * We found it in 3 of 8 nodes with neighbours and in none of 8 without, probably because a node
 * with neighbours has allocated more before its first requests. One living object keeps the shape.
 * `executionAsyncResource` gives it without a hook. We refused `createHook`, which is experimental
 * and hooks promises as well.
 *
 * Seen in Node 20.20.2. If another version has other tick objects, this costs one object.
 */

import { executionAsyncResource } from 'node:async_hooks';

let kept: object | null = null;

/** Keeps a tick object from the next tick on. Call it when the process starts. */
export function keepTick(): void {
  process.nextTick(() => {
    kept = executionAsyncResource();
  });
}

/** The tick object that is kept, or null before that. */
export function keptTick(): object | null {
  return kept;
}
