export { type Admission, FlowMemory, type FlowMemoryOptions, type HeldFlow } from './flow-memory.ts';
export {
  type Bounds,
  FlowMeter,
  type FlowMeterOptions,
  type FlowReport,
  type MeteredFlow,
  type ReportOptions,
} from './flow-meter.ts';
export {
  type CountedFlow,
  DEFAULT_FLOW_MEMORY,
  FlowTable,
  FlowTableError,
  type FlowTableOptions,
} from './flow-table.ts';
export type { HeavyPrefix } from './heavy-prefixes.ts';
export { createAnonymiser } from './keys/anonymise.ts';
export {
  type AddressPrefix,
  FIVE_TUPLE,
  type FieldName,
  type FlowFields,
  namesOfFields,
  parseFlowFields,
} from './keys/flow-fields.ts';
export { type FlowKey, type NamedFlow, parseFlow, protocolName } from './keys/flow-key.ts';
export {
  expectedEntries,
  expectedPassing,
  meanUndercount,
  missProbability,
  passProbability,
  stageStrength,
} from './math/multistage.ts';
export { MultistageFilter, type MultistageFilterOptions } from './multistage-filter.ts';
export { PrefixMeter, type PrefixMeterOptions, type PrefixReport } from './prefix-meter.ts';
export { type PrefixSum, PrefixSums, type PrefixSumsOptions } from './prefix-sums.ts';
export { SampleAndHold, type SampleAndHoldOptions } from './sample-and-hold.ts';
