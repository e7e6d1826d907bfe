/**
 * Fleets of simulated caches. This entry is for programs that compare policies, such as
 * `bloomery simulate`; a node never loads it.
 */

export {
  BETWEEN_CHOICES,
  type BetweenChoice,
  type FleetOptions,
  type GroupsChoice,
  type NodeCapacity,
  type NodeReplacement,
  type PolicyChoice,
  SUMMARY_FORMS,
  type SummariesChoice,
  type SummaryForm,
  thresholdAlone,
} from './fleet-options.ts';
export {
  type AnswerSource,
  type BetweenGroups,
  type FleetResult,
  MESSAGE_KINDS,
  type MessageKind,
  messageBytesOf,
  messagesOf,
  type SeriesPoint,
  type SummaryMemory,
} from './fleet-result.ts';
export type { NodeChange } from './node-changes.ts';
export { type ChurnClaim, type ChurnOptions, type ChurnResult, simulateChurn } from './simulate-churn.ts';
export { simulateFleet } from './simulate-fleet.ts';
export { keyOfObject, type Trace, type TraceRequest } from './trace.ts';
export type { BadLine, TraceReport } from './traces/line-tally.ts';
export { MEAN_OBJECT_BYTES } from './traces/object-sizes.ts';
export { type ReadTraceOptions, readTrace, type TraceFile } from './traces/read-trace.ts';
export { DEALS, type Deal, type DealOptions, type RecordedTrace } from './traces/recorded-trace.ts';
export { TraceError } from './traces/trace-error.ts';
export { TRACE_FORMATS, type TraceFormat } from './traces/trace-formats.ts';
export { CACHEABLE, type LogRules } from './traces/trace-line.ts';
export { type Tastes, type ZipfTraceOptions, zipfTrace } from './traces/zipf-trace.ts';
