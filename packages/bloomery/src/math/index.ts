/**
 * The entry point `bloomery/math`: the formulas of the papers, each with its citation, and the
 * planner built on them.
 *
 * All functions here are pure: they take numbers and return numbers.
 */

export { atLeastOne, atLeastOneOf, eachOfAtLeastOne } from './at-least-one.ts';
export {
  BLOCK_BITS,
  type BlockedRateRequest,
  inBlockRates,
  type RateAtLoad,
  rateBlocked,
  rateOverLoads,
  rateSplitBlock,
  SPLIT_BLOCK_BITS,
  SPLIT_BLOCK_HASHES,
  splitBlockRate,
} from './blocked-rate.ts';
export {
  BLOOM_OVERHEAD,
  counterExactProbability,
  counterOverflowBound,
  counterOverflowBoundOptimal,
  counterProbability,
  fingerprintBits,
  lowerBoundBits,
  lowerBoundBitsInUniverse,
  zeroFractionTailCompressed,
  zeroFractionTailSurvey,
} from './bounds.ts';
export { MAX_BITS } from './checks.ts';
export {
  counterBits,
  counterBitsDeviation,
  counterDeltaBits,
  counterDeltaBitsDeviation,
} from './counter-messages.ts';
export {
  binaryEntropy,
  bitsAtConfidence,
  compressedBits,
  compressedBitsDeviation,
  counterEntropy,
  deltaBits,
  deltaBitsDeviation,
  deltaDensity,
  deltaFitProbability,
  fitProbability,
} from './entropy.ts';
export {
  type Estimate,
  estimateIntersectionSize,
  estimateJaccard,
  estimateSize,
  estimateUnionSize,
  expectedInnerProduct,
  type FilterLayout,
  type FilterShape,
  type TwoFilterCounts,
} from './estimates/estimators.ts';
export { estimateJoinSize, estimateSemiJoin, type JoinCounts, type SemiJoin } from './estimates/join-size.ts';
export { rateFromOnes } from './from-ones.ts';
export { normalProbability, normalQuantile } from './normal.ts';
export {
  occupancyDistribution,
  occupancyMean,
  occupancyVariance,
  relativeZeroVariance,
  zeroCovariance,
} from './occupancy.ts';
export {
  MAX_PATH_BITS,
  MAX_PATH_HASHES,
  MAX_PATH_HOPS,
  MAX_PATH_REPEATS,
  pathAlarmRate,
} from './paths/path-alarm.ts';
export { type PathPlan, type PathRequest, planPath } from './paths/plan-path.ts';
export {
  DEFAULT_SPREAD,
  type Plan,
  type PlanBinding,
  type PlanGoal,
  type PlanLayout,
  type PlanRequest,
  type PlanStructure,
  plan,
} from './plan/plan.ts';
export { planSummary, type SummaryForm, type SummaryPlan, type SummaryRequest } from './plan/plan-summary.ts';
export { planTable, type TablePlan, type TableRequest, type TableSize } from './plan-table.ts';
export {
  bitsAsymptotic,
  optimalHashes,
  optimalHashesInteger,
  rateAsymptotic,
  rateExact,
  ratePartitioned,
  zeroProbability,
  zeroProbabilityExact,
  zeroProbabilityPartitioned,
} from './rates.ts';
export {
  type BlockedSize,
  type BlockedSizeRequest,
  MAX_BLOCKED_HASHES,
  sizeBlocked,
} from './size-blocked.ts';
export { type ClassicSize, type ClassicSizeRequest, sizeClassic } from './size-classic.ts';
export { rateTrue, rateTrueVariance } from './true-rate.ts';
