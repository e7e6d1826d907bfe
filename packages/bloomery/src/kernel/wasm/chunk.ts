/**
 * A chunk: the unit in which batches are hashed and probed. 1024 keys are enough to make the two kernel calls
 * cost nothing, and their hashes still lie in the first-level cache when they are probed.
 */
export const CHUNK_KEYS = 1024;
