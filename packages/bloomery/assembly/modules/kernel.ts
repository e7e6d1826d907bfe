// The WebAssembly kernel. Compiled by tools/build-kernel.mjs and embedded as text in
// src/kernel/wasm/kernel-binary.ts; nothing is fetched at run time.

export {
  blockedAdd, blockedHas, blockedHasOne, splitBlockAdd, splitBlockHas, splitBlockHasOne,
} from '../bits/blocked';
export { classicAdd, classicHas, classicHasOne } from '../bits/classic';
export {
  boundsRise, hashOne, hashSpans, splitLines, streamBlocks, streamEnd, streamStart,
} from '../hashing/hash-keys';
