import type { WasmKernel } from './wasm-kernel.ts';

/**
 * A chunk: the unit in which batches are hashed and probed. 1024 keys are enough to make the two kernel calls
 * cost nothing, and their hashes still lie in the first-level cache when they are probed.
 */
export const CHUNK_KEYS = 1024;

/** Called with the number of keys in the chunk. Their hashes are in `chunkHashes(wasm)` of batches/batch.ts. */
export type VisitChunk = (count: number, wasm: WasmKernel | null) => void;
