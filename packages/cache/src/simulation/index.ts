/**
 * Fleets of simulated caches. This entry is for programs that compare policies, such as
 * `bloomery simulate`; a node never loads it.
 */

export { keyOfObject, type Trace, type TraceRequest } from './trace.ts';
