import type { WasmKernel } from './wasm-kernel.ts';

/**
 * The number of keys in a chunk, the unit in which batches are hashed and probed. With 1024 keys
 * the cost of the two kernel calls is negligible, and their hashes still lie in the first-level
 * cache when they are probed.
 */
export const CHUNK_KEYS = 1024;

/**
 * Called with the number of keys in the chunk. Their hashes are in `chunkHashes(wasm)` of
 * batches/batch.ts.
 */
export type VisitChunk = (count: number, wasm: WasmKernel | null) => void;
