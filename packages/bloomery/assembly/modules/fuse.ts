// The binary fuse tables of StaticFilter and BloomierFilter: lookups and construction. Bands: only
// lookups.

export { bandHas, bandKey, bandOne } from '../tables/band';
export { fuseKey, fuseOne, fuseHas, fuseGet, fuseSet } from '../tables/fuse';
export { fuseAssign, fuseEnter, fuseGather, fusePeel, fuseSolve } from '../tables/fuse-build';
export { sortDistinct } from '../tables/fuse-sort';
