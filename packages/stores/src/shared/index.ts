/**
 * One filter for many processes, on Redis.
 */

export {
  ClusteredFilter,
  type ClusteredFilterStats,
  type RereadableSource,
} from './cluster/clustered-filter.ts';
export {
  type ClusteredFilterOptions,
  createClusteredFilter,
} from './cluster/create-clustered-filter.ts';
export { createSharedFilter } from './create-shared-filter.ts';
export type { RebuildOptions } from './rebuild-shared.ts';
export type { IoRedisClient, NodeRedisClient, RedisClient } from './redis/redis-client.ts';
export {
  createServerFilter,
  type ServerFilterOptions,
} from './server/create-server-filter.ts';
export {
  type CallOptions,
  type ServerEngine,
  ServerFilter,
  type ServerFilterStats,
  type ServerVerdict,
} from './server/server-filter.ts';
export { SharedFilter, type SharedFilterStats, type WaitOptions } from './shared-filter.ts';
export { SharedFilterError, type SharedFilterErrorCode } from './shared-filter-error.ts';
export type { SharedFilterOptions, SharedTiming } from './shared-options.ts';
export type { SharedFilterState } from './shared-state.ts';
