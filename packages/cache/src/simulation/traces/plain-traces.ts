/**
 * The two forms in which researchers publish traces as text: `time object size` (webcachesim,
 * AdaptSize, libCacheSim's text form; further columns are ignored), and one object per line.
 *
 * Times are seconds. Some published traces have the number of the request there instead; replaying
 * at a rate (`ratePerNode` of `RecordedTrace.deal`) ignores them.
 */

import type { LineParser } from './trace-line.ts';

const SIZED = /^(\d+(?:\.\d+)?)[ \t,]+([^\s,]+)[ \t,]+(\d+)(?:[ \t,]|$)/;

export const sizedObjects: LineParser = (line) => {
  const match = SIZED.exec(line);
  if (match === null) return null;
  const [, seconds, object, size] = match;
  const bytes = Number(size);
  if (!Number.isSafeInteger(bytes)) return null;
  return { timeMs: Number(seconds) * 1000, client: null, object, bytes };
};

export const objectNames: LineParser = (line) =>
  /^\S+$/.test(line) ? { timeMs: null, client: null, object: line, bytes: null } : null;

/** A number of a binary trace. Any bytes are a name. */
export const objectNumber: LineParser = (object) => ({ timeMs: null, client: null, object, bytes: null });
