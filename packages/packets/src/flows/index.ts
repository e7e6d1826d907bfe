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
