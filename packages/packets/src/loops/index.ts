export { type LoopCounts, LoopDetector, type LoopDetectorOptions } from './loop-detector.ts';
export type { Loop } from './loop-list.ts';
export { PathShim, type PathShimOptions } from './path-shim.ts';
