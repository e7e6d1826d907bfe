/**
 * Fleets of simulated caches. This entry is for programs that compare policies, such as
 * `bloomery simulate`; a node never loads it.
 */

export { keyOfObject, type Trace, type TraceRequest } from './trace.ts';
export { DEALS, type Deal, type DealOptions, type RecordedTrace } from './traces/recorded-trace.ts';
export { TraceError } from './traces/trace-error.ts';
