export { type Admission, FlowMemory, type FlowMemoryOptions, type HeldFlow } from './flow-memory.ts';
export { type CountedFlow, DEFAULT_FLOW_MEMORY, FlowTable, type FlowTableOptions } from './flow-table.ts';
export {
  expectedEntries,
  expectedPassing,
  meanUndercount,
  missProbability,
  passProbability,
  stageStrength,
} from './math/multistage.ts';
export { MultistageFilter, type MultistageFilterOptions } from './multistage-filter.ts';
export { SampleAndHold, type SampleAndHoldOptions } from './sample-and-hold.ts';
